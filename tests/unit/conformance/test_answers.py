from dragoman.conformance.answers import ERRORS, Refusal, at, items, objects, text_at


def test_every_error_of_a2a_is_known_on_every_binding() -> None:
    form = ERRORS["TaskNotFoundError"]
    assert (form.jsonrpc, form.http, form.grpc, form.reason) == (-32001, 404, 5, "TASK_NOT_FOUND")
    assert len([form for form in ERRORS.values() if -32099 <= form.jsonrpc <= -32001]) == 9


def test_what_is_not_there_is_none() -> None:
    value = {"a": {"b": "text", "c": 1}}
    assert at(value, "a", "c") == 1
    assert at(value, "a", "x") is None
    assert at(value, "a", "b", "x") is None
    assert (text_at(value, "a", "b"), text_at(value, "a", "c")) == ("text", "")


def test_only_arrays_have_items_and_only_objects_count() -> None:
    assert items([1, "a"]) == [1, "a"]
    assert items({"a": 1}) is None
    assert objects([1, {"a": 1}, None]) == [{"a": 1}]
    assert objects("no array") == []


def test_a_refusal_is_told_with_its_name_and_code() -> None:
    assert str(Refusal(name="InternalError", code=-32603, message="No.")) == (
        "InternalError (-32603: No.)"
    )
    assert str(Refusal(name="", code=418, message="Tea")) == "an error (418: Tea)"
