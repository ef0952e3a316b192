"""The manifest agrees with the totals the specification reference states about itself."""

from collections import Counter

import pytest

from dragoman.conformance import requirements
from dragoman.conformance.requirements import REQUIREMENTS, Requirement

ROWS = tuple(REQUIREMENTS.values())


def test_there_are_568_requirements_with_unique_ids() -> None:
    # Rows sharing an id would collapse in the mapping.
    assert len(ROWS) == 568


def test_480_requirements_are_distinct() -> None:
    assert sum(row.same_as is None for row in ROWS) == 480


def test_171_requirements_are_implied() -> None:
    assert sum(row.implied for row in ROWS) == 171


def test_levels_add_up() -> None:
    assert Counter(row.level for row in ROWS) == {
        "MUST": 323,
        "MUST NOT": 21,
        "SHOULD": 147,
        "SHOULD NOT": 11,
        "MAY": 66,
    }


def test_checks_add_up() -> None:
    assert Counter(row.check for row in ROWS) == {"wire": 347, "client": 73, "unit": 48, "ops": 100}


def test_areas_add_up() -> None:
    counts = Counter(row.area for row in ROWS)
    distinct = Counter(row.area for row in ROWS if row.same_as is None)
    assert {area: (count, distinct[area]) for area, count in counts.items()} == {
        "Discovery and Agent Card": (26, 26),
        "SendMessage": (18, 18),
        "Streaming": (30, 20),
        "GetTask": (4, 4),
        "ListTasks": (19, 16),
        "CancelTask": (6, 6),
        "SubscribeToTask": (6, 5),
        "Push notifications": (63, 45),
        "Extended card": (24, 15),
        "Versioning": (14, 13),
        "Extensions": (30, 24),
        "Multi-turn": (33, 31),
        "History": (9, 8),
        "Authentication and authorization": (37, 35),
        "Security": (50, 44),
        "Signatures": (24, 21),
        "Multi-tenancy": (7, 4),
        "Errors": (15, 14),
        "Data model and JSON": (21, 19),
        "Bindings in general": (11, 11),
        "JSON-RPC binding": (21, 16),
        "HTTP+JSON binding": (27, 19),
        "gRPC binding": (13, 11),
        "Custom bindings": (40, 36),
        "SDKs, migration, publication": (20, 19),
    }


def test_a_restatement_points_at_a_requirement_that_restates_nothing() -> None:
    targets = [REQUIREMENTS[row.same_as] for row in ROWS if row.same_as is not None]
    assert [row.id for row in targets if row.same_as is not None] == []


def test_requirements_newer_than_the_release_are_marked() -> None:
    assert [row.id for row in ROWS if row.after_1_0_1] == [
        "R-4.4.6-2",
        "R-7.6.4-1",
        "R-7.6.4-2",
        "R-7.6.4-3",
        "R-7.6.4-4",
    ]


def test_what_is_due_now_binds_what_we_have_and_can_be_tested() -> None:
    due = [row for row in ROWS if row.scope == "now"]
    # A server, a client, both of them, or the receiver of a webhook.
    assert {row.side for row in due} == {"S", "C", "B", "W"}
    assert {row.check for row in due} == {"wire", "client", "unit"}


@pytest.mark.parametrize(
    ("requirement_id", "bindings"),
    [
        ("R-3.1.5-2", ()),
        ("R-9.1-1", ("JSONRPC",)),
        ("R-11.1-1", ("HTTP+JSON",)),
        ("R-10.1-1", ("GRPC",)),
        ("R-12-1", ("custom",)),
    ],
)
def test_the_area_tells_the_binding(requirement_id: str, bindings: tuple[str, ...]) -> None:
    assert REQUIREMENTS[requirement_id].bindings == bindings


def test_a_row_is_read_whole() -> None:
    # It restates another, belongs to one binding, and holds quotation marks a reader might eat.
    assert REQUIREMENTS["R-11.6-8"] == Requirement(
        id="R-11.6-8",
        area="HTTP+JSON binding",
        level="MUST",
        implied=False,
        side="S",
        check="wire",
        scope="now",
        same_as="R-10.6-4",
        after_1_0_1=False,
        text='Its domain is "a2a-protocol.org".',
        bindings=("HTTP+JSON",),
    )


def test_no_text_is_empty_or_padded() -> None:
    assert [row.id for row in ROWS if row.text != row.text.strip() or not row.text] == []


def test_the_manifest_is_read_once() -> None:
    assert requirements.REQUIREMENTS is REQUIREMENTS


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="REQUIREMENT_LIST"):
        _ = requirements.REQUIREMENT_LIST
