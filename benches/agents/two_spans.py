"""The benchmark contract with two spans around an echo, made by hand, and nothing else traced.

They are those that a send is traced by. What they cost here is what OpenTelemetry's SDK takes for
them, whoever calls it: nobody who keeps every span of a send can be faster.

dragoman serve benches.agents.two_spans:agent
"""

from opentelemetry import context
from opentelemetry.trace import SpanKind, set_span_in_context

from benches.agents.providers import tracers
from benches.agents.subject import choose
from dragoman import Agent, Context

# Not the provider of the process: Dragoman is not to know of it.
tracer = tracers().get_tracer("by hand")
agent = Agent("Bench", "Benchmark agent.")
agent.route(choose)

OPERATION = {"rpc.system": "a2a", "rpc.method": "SendMessage", "a2a.dialect": "1.0"}


@agent.skill
async def echo(ctx: Context, text: str) -> str:
    """Give back the text."""
    operation = tracer.start_span("a2a.SendMessage", kind=SpanKind.SERVER, attributes=OPERATION)
    outer = context.attach(set_span_in_context(operation))
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": ctx.context_id,
        "a2a.task.id": ctx.task_id,
        "a2a.skill.id": "echo",
    }
    turn = tracer.start_span("invoke_agent echo", attributes=attributes)
    inner = context.attach(set_span_in_context(turn))
    turn.set_attribute("a2a.task.state", "TASK_STATE_COMPLETED")
    context.detach(inner)
    turn.end()
    context.detach(outer)
    operation.end()
    return text
