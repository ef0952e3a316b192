from dragoman.adapters.xpr_tool_table import TOOLS


def test_there_are_the_five_of_the_networks_own_plugin() -> None:
    assert {name: tool.kind for name, tool in TOOLS.items()} == {
        "xpr_a2a_discover": "read",
        "xpr_a2a_send_message": "write",
        "xpr_a2a_get_task": "read",
        "xpr_a2a_cancel_task": "write",
        "xpr_a2a_delegate_job": "write",
    }


def test_a_schema_names_what_must_be_given() -> None:
    schema = TOOLS["xpr_a2a_delegate_job"].schema
    assert schema["required"] == ["account", "job_id", "instructions"]
    assert schema["properties"] == {**TOOLS["xpr_a2a_delegate_job"].arguments}
    named = {"account", "job_id", "instructions", "confirmed"}
    assert set(TOOLS["xpr_a2a_delegate_job"].arguments) == named
    assert schema["additionalProperties"] is False
