"""The benchmark contract with everything traced by OpenTelemetry's SDK.

dragoman serve benches.agents.traced_sdk:agent
"""

from opentelemetry import trace

from benches.agents.providers import tracers
from benches.agents.subject import make_agent

trace.set_tracer_provider(tracers())

agent = make_agent()
