import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import telemetry
from tests.support.tracing import Traced

WITHOUT = """
import sys
from dragoman import telemetry
assert telemetry.look() is None
assert not any(name.startswith("opentelemetry") for name in sys.modules)
import opentelemetry.trace
assert telemetry.look() is None, "nobody has set up a provider"
"""

WITH = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from dragoman import telemetry
assert telemetry.look() is None
trace.set_tracer_provider(TracerProvider())
assert telemetry.look() is telemetry.active is not None
assert telemetry.look() is telemetry.active
"""


@pytest.mark.parametrize("program", [WITHOUT, WITH], ids=["without", "with"])
def test_it_is_active_once_a_provider_was_set_up(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_traced_is_told_to_others() -> None:
    traced = Traced()
    tracing = traced.telemetry
    assert tracing.trace() == ""
    assert tracing.ids() == ("", "")
    with tracing.span("outer", {"a": 1}):
        trace_id, span_id = tracing.ids()
        assert tracing.outgoing()["traceparent"].startswith(f"00-{trace_id}-{span_id}-")
        parent = tracing.trace()
    with tracing.span("later", {}, kind="client", parent=parent):
        assert tracing.ids()[0] == trace_id
    assert traced.parent_of(traced.one("later")) == "outer"


def test_what_is_kept_of_a_trace_has_all_that_others_added() -> None:
    traced = Traced()
    tracing = traced.telemetry
    headers = {b"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", b"tracestate": "x=1-2 ,y=2"}
    with tracing.served("op", "1.0", headers):
        kept = tracing.trace()
        assert telemetry.ids_of(kept) == tracing.ids() == ("a" * 32, tracing.ids()[1])
    with tracing.span("later", {}, parent=kept):
        told = tracing.outgoing()
    assert traced.parent_of(traced.one("later")) == "a2a.op"
    assert told["tracestate"] == "x=1-2,y=2"


def test_what_belongs_to_no_trace_begins_one() -> None:
    traced = Traced()
    with traced.telemetry.span("outer", {}), traced.telemetry.span("apart", {}, parent=""):
        pass
    with traced.telemetry.span("outer", {}), traced.telemetry.span("within", {}):
        pass
    assert traced.parent_of(traced.one("apart")) == ""
    assert traced.parent_of(traced.one("within")) == "outer"


def test_an_error_is_told_by_its_kind() -> None:
    traced = Traced()
    with pytest.raises(KeyError), traced.telemetry.span("work", {}):
        raise KeyError("secret")
    span = traced.one("work")
    assert span.attributes == {"error.type": "KeyError"}
    assert span.events == ()
    assert "secret" not in span.to_json()


@given(st.text(alphabet=st.characters(codec="latin-1")), st.text(max_size=20))
def test_whatever_a_header_holds_it_is_no_trouble(parent: str, state: str) -> None:
    traced = Traced()
    headers = {b"traceparent": parent, b"tracestate": state}
    with traced.telemetry.served("op", "1.0", headers):
        assert traced.telemetry.ids()[0]


def test_a_number_that_is_gone_is_left_out() -> None:
    traced = Traced()
    numbers = [7]
    traced.telemetry.observe("n", "A number.", lambda: numbers[0] if numbers else None)
    assert "n" in traced.measured()
    numbers.clear()
    assert not traced.measured().get("n")
    assert telemetry.active is None


def test_numbers_of_several_are_put_together() -> None:
    traced = Traced()
    for number in (2, None, 5):
        traced.telemetry.observe("all", "Altogether.", lambda number=number: number)
        traced.telemetry.observe("most", "Most.", lambda number=number: number, together=max)
    assert traced.gauges() == {"all": 7, "most": 5}
