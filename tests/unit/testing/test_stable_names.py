import pytest

from dragoman.testing.stable_names import with_stable_names

ONE = "0199b2c4-1d7e-7aaa-8bbb-0123456789ab"
TWO = "0199b2c4-1d7e-7aaa-8bbb-0123456789ac"
THREE = "0199b2c4-1d7e-7aaa-8bbb-0123456789ad"


def test_ids_are_named_by_kind_in_the_order_of_their_appearance() -> None:
    said = [
        {"messageId": ONE, "taskId": TWO},
        {"messageId": THREE, "taskId": TWO, "contextId": "c", "artifactId": "a"},
    ]
    assert with_stable_names(said) == [
        {"messageId": "<message-1>", "taskId": "<task-1>"},
        {
            "messageId": "<message-2>",
            "taskId": "<task-1>",
            "contextId": "<context-1>",
            "artifactId": "<artifact-1>",
        },
    ]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        # A task is known by its status, or as the parameter of a call.
        ({"id": ONE, "status": {}}, {"id": "<task-1>", "status": {}}),
        ({"params": {"id": "t"}}, {"params": {"id": "<task-1>"}}),
        # The id of a call that is a text; numbers are counted and stay.
        ({"jsonrpc": "2.0", "id": "x"}, {"jsonrpc": "2.0", "id": "<call-1>"}),
        ({"jsonrpc": "2.0", "id": 7}, {"jsonrpc": "2.0", "id": 7}),
        # The id of a skill is its name.
        ({"skills": [{"id": "brew"}]}, {"skills": [{"id": "brew"}]}),
        # Several in one list.
        ({"referenceTaskIds": [ONE, TWO]}, {"referenceTaskIds": ["<task-1>", "<task-2>"]}),
        # Tokens of pages hold times and ids.
        ({"nextPageToken": "abc"}, {"nextPageToken": "<page-1>"}),
        ({"nextPageToken": ""}, {"nextPageToken": ""}),
        ({"contextId": None}, {"contextId": None}),
    ],
)
def test_ids_are_known_by_where_they_stand(said: object, named: object) -> None:
    assert with_stable_names(said) == named


def test_times_have_one_name() -> None:
    said = {"timestamp": "2026-01-01T00:00:00Z", "text": "2026-01-01T00:00:00Z"}
    assert with_stable_names(said) == {"timestamp": "<time>", "text": "2026-01-01T00:00:00Z"}


def test_a_long_id_is_named_wherever_it_stands() -> None:
    said = [{"text": f"Task {ONE} not found"}, {"taskId": ONE}, {"name": f"tasks/{ONE}"}]
    assert with_stable_names(said) == [
        {"text": "Task <task-1> not found"},
        {"taskId": "<task-1>"},
        {"name": "tasks/<task-1>"},
    ]


def test_a_short_id_is_named_in_paths_and_not_in_texts() -> None:
    said = {"taskId": "tea", "text": "tea is served", "path": "/tasks/tea:cancel?tenant=tea"}
    assert with_stable_names(said) == {
        "taskId": "<task-1>",
        "text": "tea is served",
        "path": "/tasks/<task-1>:cancel?tenant=<task-1>",
    }


def test_a_uuid_of_something_else_is_named_too() -> None:
    said = [f"Error id: {ONE}", f"{TWO}", f"again {ONE}"]
    assert with_stable_names(said) == ["Error id: <id-1>", "<id-2>", "again <id-1>"]


def test_part_of_a_longer_word_is_no_id() -> None:
    assert with_stable_names([{"taskId": ONE}, f"{ONE}-x", f"x{ONE}"]) == [
        {"taskId": "<task-1>"},
        f"{ONE}-x",
        f"x{ONE}",
    ]


def test_what_has_stable_names_keeps_them() -> None:
    said = [{"messageId": ONE}, {"id": TWO, "status": {"timestamp": "x"}}, f"error {THREE}"]
    named = with_stable_names(said)
    assert with_stable_names(named) == named


def test_what_is_given_is_not_changed() -> None:
    said = [{"taskId": ONE}]
    with_stable_names(said)
    assert said == [{"taskId": ONE}]
