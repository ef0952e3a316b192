from dragoman.agent.view import View
from dragoman.testing.turn import RecordingTurn


def test_a_view_shows_the_task() -> None:
    turn = RecordingTurn(
        "hi",
        tenant="acme",
        owner="ada",
        scopes=("read", "write"),
        metadata={"a": 1},
        extensions=("https://x.example",),
        accepted_output_modes=("text/plain",),
    )
    view = View(turn)
    assert (view.task_id, view.context_id) == ("task-1", "context-1")
    assert (view.tenant, view.user) == ("acme", "ada")
    assert (view.principal.owner, view.scopes) == ("ada", {"read", "write"})
    assert (view.message, view.history) == (turn.message, (turn.message,))
    assert view.metadata == {"a": 1}
    assert view.extensions == ("https://x.example",)
    assert view.accepted_output_modes == ("text/plain",)
