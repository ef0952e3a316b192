import pytest

from dragoman.cli.errors import CliError
from dragoman.cli.options.options import OUTPUT, STREAM, TRANSPORT, VERBOSE
from dragoman.cli.options.parser import Flag, Parser, Shown
from dragoman.cli.options.settings import Given


def make(given: list[Given] | None = None) -> Parser:
    return Parser(given=[] if given is None else given, describe=lambda _: "", prog="x")


def test_options_are_recorded_in_their_order() -> None:
    given: list[Given] = []
    parser = make(given)
    parser.add_options((OUTPUT, STREAM, TRANSPORT))
    parser.parse_args(["--transport", "a", "-o", "json", "--stream", "--transport=b"])
    assert given == [
        Given(TRANSPORT, "a", "--transport"),
        Given(OUTPUT, "json", "-o"),
        Given(STREAM, "true", "--stream"),
        Given(TRANSPORT, "b", "--transport"),
    ]


def test_a_spelling_that_is_taken_keeps_its_meaning() -> None:
    given: list[Given] = []
    parser = make(given)
    parser.add_version("-v", "--version")
    parser.add_options((VERBOSE,))
    with pytest.raises(Shown, match="dragoman"):
        parser.parse_args(["-v"])
    parser.parse_args(["--verbose"])
    assert given == [Given(VERBOSE, "true", "--verbose")]


def test_an_argument_may_stand_in_for_an_option() -> None:
    given: list[Given] = []
    parser = make(given)
    parser.add_stand_in("form", OUTPUT)
    parser.parse_args([])
    assert given == []
    parser.parse_args(["json"])
    assert given == [Given(OUTPUT, "json", "--output")]
    assert "the same as --output FORMAT" in parser.format_help()


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--output"], ["--out", "json"], ["extra"]])
def test_a_mistake_is_told_with_where_to_look(arguments: list[str]) -> None:
    parser = make()
    parser.add_options((OUTPUT,))
    with pytest.raises(CliError) as refused:
        parser.parse_args(arguments)
    assert refused.value.failure.code == "A2ACLI_ERR_USAGE"
    assert refused.value.failure.hint == "x --help"


def test_help_is_a_text_to_show() -> None:
    parser = Parser(given=[], describe=lambda option: f"100% {option.name}", prog="x")
    parser.add_options((OUTPUT,))
    with pytest.raises(Shown, match=r"default: 100% output"):
        parser.parse_args(["--help"])


def test_a_command_declares_what_it_takes_when_it_is_called_for() -> None:
    asked: list[str] = []

    def declare(parser: Parser) -> None:
        asked.append(parser.prog)
        parser.add_argument("place")

    parser = Parser(given=[], describe=lambda _: "", prog="x", declare=declare)
    assert asked == []
    assert parser.parse_args(["here"]).place == "here"
    parser.format_help()
    assert asked == ["x"]


def test_completion_can_ask_for_flags_and_choices() -> None:
    parser = make()
    parser.add_argument("shell", choices=["a", "b"])
    parser.add_argument("--level", choices=["low", "high"])
    parser.add_options((OUTPUT, STREAM))
    assert parser.positional_choices() == ("a", "b")
    assert parser.flags() == (
        Flag(("-h", "--help"), False, ()),  # noqa: FBT003 - of a value
        Flag(("--level",), True, ("low", "high")),  # noqa: FBT003 - of a value
        Flag(("-o", "--output"), True, ("text", "json", "jsonl")),  # noqa: FBT003 - of a value
        Flag(("--stream",), False, ()),  # noqa: FBT003 - of a value
    )
