"""The benchmark contract with a tenth of all traces kept.

dragoman serve benches.agents.sampled:agent
"""

from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from benches.agents.providers import tracers
from benches.agents.subject import make_agent

trace.set_tracer_provider(tracers(ParentBasedTraceIdRatio(0.1)))

agent = make_agent()
