from __future__ import annotations

from itertools import groupby
from typing import Literal

import pytest
from msgspec import Struct

from dragoman.cli.options.options import BEARER
from dragoman.cli.options.settings import Given
from dragoman.cli.serving.options import OPTIONS, Flag, SettingOption, option_of, told, whole
from dragoman.server.settings import ProcessSettings, Settings, setting_fields


class Example(Struct, kw_only=True):
    """Something to set.

    There is more of it.

    Attributes:
        size: how large it is.
    """

    size: int | None = 3
    colour: Literal["red", "blue"] = "red"
    is_quick: bool = False
    waits: bool = True
    names: tuple[str, ...] = ("a", "b")
    title: str = ""


def option(name: str, **how: object) -> SettingOption:
    return option_of(setting_fields(Example)[name], Flag("help", **how))  # type: ignore[arg-type] - by name


@pytest.mark.parametrize(
    ("name", "flag", "metavar", "text"),
    [
        ("size", "--size", "SIZE", "help (default 3)"),
        ("colour", "--colour", "{red,blue}", "help (default red)"),
        ("is_quick", "--is-quick", "", "help"),
        # What is on can only be switched off.
        ("waits", "--no-waits", "", "help"),
        ("names", "--names", "NAMES", "help (default a,b)"),
        ("title", "--title", "TITLE", "help"),
    ],
)
def test_an_option_is_made_of_the_field(name: str, flag: str, metavar: str, text: str) -> None:
    made = option(name)
    assert (made.flags, made.metavar, made.help) == ((flag,), metavar, text)


def test_an_option_is_in_the_group_of_its_setting() -> None:
    assert option("size").group == "Something to set"
    assert option("waits").group == "Something to set"


def test_a_group_of_options_stands_together_and_in_the_order_of_the_settings() -> None:
    fields = (*setting_fields(ProcessSettings).values(), *setting_fields(Settings).values())
    groups = dict.fromkeys(["", *(field.group for field in fields)])
    found = [group for group, _ in groupby(OPTIONS, lambda option: option.group)]
    assert found == [group for group in groups if group in found]


def test_what_happens_by_default_can_be_said_in_words() -> None:
    assert option("title", shown="worked out").help == "help (default: worked out)"


def test_choices_are_told_to_the_parser_unless_the_value_has_a_name() -> None:
    assert option("colour").is_checked_early
    assert not option("colour", metavar="NAME").is_checked_early


def test_what_is_told_is_by_member_and_of_its_type() -> None:
    given = [
        Given(option("size"), "5", "--size"),
        Given(option("waits"), "true", "--no-waits"),
        Given(option("names"), "x,y", "--names"),
        Given(option("names"), "z", "--names"),
        Given(BEARER, "none of ours", "--bearer"),
    ]
    assert told(given) == {"size": 5, "waits": False, "names": ["x", "y", "z"]}


def test_the_items_of_a_list_may_hold_commas() -> None:
    assert told([Given(option("names", split=whole), "x,y", "--names")]) == {"names": ["x,y"]}


def test_every_option_of_serve_sets_something_declared() -> None:
    declared = {*setting_fields(Settings), *setting_fields(ProcessSettings), "config"}
    assert {each.member for each in OPTIONS} <= declared
    # Whatever the process itself can be told has an option.
    assert set(setting_fields(ProcessSettings)) <= {each.member for each in OPTIONS}
