"""The benchmark contract with everything traced.

dragoman serve benches.agents.traced:agent
"""

from opentelemetry import trace

from benches.agents.providers import tracers
from benches.agents.subject import make_agent

trace.set_tracer_provider(tracers())

agent = make_agent()
