import io
import json

from dragoman.cli.errors import TIMEOUT, Failure
from dragoman.cli.output import Output
from dragoman.cli.views.labels import Lines


class Streams:
    """An output and what it has written."""

    def __init__(self) -> None:
        self._out, self._err = io.BytesIO(), io.BytesIO()
        self.output = Output(self._out, self._err)

    @property
    def out(self) -> str:
        return self._out.getvalue().decode()

    @property
    def err(self) -> str:
        return self._err.getvalue().decode()


def lines() -> Lines:
    return Lines().field("A", 1)


def test_a_result_is_text_unless_json_is_asked_for() -> None:
    streams = Streams()
    streams.output.show(b'{"a":1}', lines)
    assert (streams.out, streams.err) == ("A: 1\n", "")


def test_json_is_indented_unless_it_is_compact() -> None:
    streams = Streams()
    streams.output.is_json = True
    streams.output.show(b'{"a":1}', lines)
    streams.output.is_compact = True
    streams.output.show(b'{"a":1}', lines)
    assert streams.out == '{\n  "a": 1\n}\n{"a":1}\n'


def test_notes_and_warnings_go_to_standard_error_without_controls() -> None:
    streams = Streams()
    streams.output.note("one\x1b[1m", "two\nlines")
    streams.output.warn("beware")
    assert (streams.out, streams.err) == ("", "one[1m\ntwo lines\nWarning: beware\n")


def test_a_failure_is_labelled_on_standard_error() -> None:
    streams = Streams()
    streams.output.fail(Failure(TIMEOUT, "too late", "hurry", 504))
    assert streams.out == ""
    assert streams.err == "Error: too late\nCode: A2ACLI_ERR_TIMEOUT\nHint: hurry\nA2A code: 504\n"


def test_a_failure_in_json_is_the_document() -> None:
    streams = Streams()
    streams.output.is_json = True
    streams.output.fail(Failure(TIMEOUT, "too late"))
    assert json.loads(streams.out) == {
        "error": {"code": TIMEOUT, "message": "too late", "hint": None, "a2aCode": None}
    }
    assert streams.err == ""


def test_a_secret_is_taken_out_of_every_diagnostic() -> None:
    streams = Streams()
    streams.output.secrets = ("s3cret",)
    streams.output.note("it is s3cret")
    streams.output.fail(Failure(TIMEOUT, "s3cret was refused"))
    assert "s3cret" not in streams.err
    assert streams.err.count("<redacted>") == 2


def test_what_utf_8_cannot_carry_does_not_break_it() -> None:
    streams = Streams()
    streams.output.print("\ud800")
    assert streams.out == "?"


def test_what_is_learnt_to_be_secret_is_hidden_from_then_on() -> None:
    streams = Streams()
    streams.output.secrets = ("first",)
    streams.output.hide("second", "first", "the")
    streams.output.note("the first and the second")
    assert streams.err == "the <redacted> and the <redacted>\n"
