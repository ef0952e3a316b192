import re

from dragoman.cli.options.options import (
    AGENT_CARD,
    CONFIG,
    GLOBAL,
    POLL_INTERVAL,
    STREAM,
    TRANSPORT,
)


def test_an_option_has_a_flag_and_a_variable() -> None:
    assert AGENT_CARD.flags == ("--agent-card", "-a")
    assert AGENT_CARD.variable == "A2ACLI_AGENT_CARD"
    assert POLL_INTERVAL.flags == ("--poll-interval", "--polling-interval")
    assert POLL_INTERVAL.variable == "A2ACLI_POLL_INTERVAL"


def test_an_option_without_a_value_is_a_switch() -> None:
    assert STREAM.is_switch
    assert not TRANSPORT.is_switch


def test_no_flag_means_two_things() -> None:
    flags = [flag for option in GLOBAL for flag in option.flags]
    assert len(flags) == len(set(flags))


def test_what_only_the_command_line_may_say_is_not_configurable() -> None:
    assert [option for option in GLOBAL if not option.is_configurable] == [STREAM, CONFIG]


def test_names_are_in_lower_case_with_hyphens() -> None:
    names = [option.name for option in GLOBAL]
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


def test_every_option_is_explained() -> None:
    assert [option.name for option in GLOBAL if not option.help] == []


def test_the_default_of_an_option_can_be_read_again() -> None:
    for option in GLOBAL:
        if option.shown and option.metavar == "TIME":
            assert option.read(option.shown) == option.default
