"""The benchmark contract with everything traced and measured.

dragoman serve benches.agents.measured:agent
"""

from opentelemetry import metrics, trace

from benches.agents.providers import meters, tracers
from benches.agents.subject import make_agent

metrics.set_meter_provider(meters())
trace.set_tracer_provider(tracers())

agent = make_agent()
