"""View: what a chat looks like on a terminal.

What an agent says is shown as it comes, indented and without control characters, so that it cannot
pass for what the program says. Colours and motion are left out where the terminal has none of it,
or the user wants none (NO_COLOR, TERM=dumb).
"""

from __future__ import annotations

import io
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, Final

import msgspec
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.status import Status
from rich.text import Text

from dragoman.cli.chat.forms import is_schema
from dragoman.cli.views.labels import Lines, cleaned, printable
from dragoman.extensions.agent_tools.exchange import uses_in
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.events import StreamResponse
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

__all__ = ("View", "console_on")

_INDENT: Final = "  "
_DIM: Final = "dim"
_BAD: Final = "red"
_ENDINGS: Final = {
    TaskState.FAILED: "the task has failed",
    TaskState.CANCELED: "the task was canceled",
    TaskState.REJECTED: "the agent has rejected the task",
}


@contextmanager
def console_on(stdout: BinaryIO, environment: Mapping[str, str]) -> Generator[Console]:
    """Give a console that writes to a stream of bytes, which stays open."""
    stream = io.TextIOWrapper(stdout, "utf-8", errors="replace", newline="", write_through=True)
    try:
        yield Console(
            file=stream,
            # What the agent says has neither markup nor emoji codes of rich.
            markup=False,
            emoji=False,
            highlight=False,
            _environ=environment,
        )
    finally:
        stream.detach()


class View:
    """Shows a chat on a console.

    Attributes:
        has_shown: the agent has said something since the turn began.
    """

    def __init__(self, console: Console) -> None:
        """Begin at the start of a line."""
        self._console = console
        self._status: Status | None = None
        self._is_at_start = True
        self._artifact_id = ""
        self._seen: set[str] = set()
        self.has_shown: bool = False

    # --- what the program says ------------------------------------------------------------------

    def welcome(self, card: AgentCard, interface: AgentInterface) -> None:
        """Say whom the user talks to, and how."""
        self._line(cleaned(f"{card.name} {card.version}"), "bold")
        binding = f"{interface.protocol_binding} {interface.protocol_version}"
        self.note(f"{binding} at {interface.url}")
        if card.description:
            self.note(card.description)
        self.note("/help tells what you can do here; Ctrl-D leaves")

    def note(self, text: str) -> None:
        """Say something in passing."""
        self._line(cleaned(text), _DIM)

    def break_line(self) -> None:
        """Go on below a line that the user has left unfinished."""
        self._console.out("")

    def lines(self, lines: Lines) -> None:
        """Show labelled lines."""
        self._end_line()
        self._console.out(lines.text(), highlight=False, end="")

    # --- what the agent says --------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Generator[None]:
        """Show that the agent is at work, until it says something or the block ends."""
        self.has_shown = False
        self._artifact_id = ""
        self._status = self._console.status("at work", spinner="line", spinner_style=_DIM)
        # Nothing that moves is drawn where the cursor cannot be moved.
        if not self._console.is_dumb_terminal:
            self._status.start()
        try:
            yield
        finally:
            self.settle()

    def show(self, event: StreamResponse) -> None:
        """Show an event; the pieces of a text follow each other as they come."""
        if event.task is not None:
            for artifact in event.task.artifacts:
                self._show_artifact(artifact)
            self._show_status(event.task.status)
        elif event.message is not None:
            self._show_parts(event.message.parts)
            self._end_line()
        elif event.status_update is not None:
            self._show_status(event.status_update.status)
        elif event.artifact_update is not None:
            update = event.artifact_update
            self._show_artifact(update.artifact, is_chunk=update.append)

    def ending(self, task: Task) -> None:
        """Say how a turn has ended, where that does not go without saying."""
        state = task.status.state
        if state is TaskState.COMPLETED:
            if not self.has_shown:
                self.note("the task is completed, without a result")
        elif state.is_terminal:
            self._line(_ENDINGS[state], _BAD)
        elif state is TaskState.AUTH_REQUIRED:
            # A2ACLI_AUTH_011: the agent may go on by itself once the user has consented elsewhere.
            # Credentials are never sent to it in a message by us.
            self.note("the agent needs an authorization: give it as it says, never in a message;")
            self.note("then /continue waits until it goes on, and a line of yours answers it")
        elif not state.is_interrupted:
            where = state.name.lower().replace("_", " ")
            self.note(f"the task is {where}: /continue follows it, /cancel ends it")

    def settle(self) -> None:
        """Have nothing move, and what comes next stand on a line of its own."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        self._end_line()

    def _end_line(self) -> None:
        if not self._is_at_start:
            self._console.out("")
            self._is_at_start = True

    def _show_status(self, status: TaskStatus) -> None:
        if status.message is None:
            return
        self._end_line()
        is_passing = not (status.state.is_terminal or status.state.is_interrupted)
        self._show_parts(status.message.parts, style=_DIM if is_passing else None)
        self._end_line()

    def _show_artifact(self, artifact: Artifact, *, is_chunk: bool = False) -> None:
        key = artifact.artifact_id
        if key != self._artifact_id or not is_chunk:
            self._end_line()
            if artifact.name:
                again = " (again, from its beginning)" if key in self._seen and not is_chunk else ""
                self._write(f"{artifact.name}{again}\n", _DIM)
        self._artifact_id = key
        self._seen.add(key)
        self._show_parts(artifact.parts)

    def _show_parts(self, parts: tuple[Part, ...], *, style: str | None = None) -> None:
        previous: Part | None = None
        for part in parts:
            # A schema is for the form, which says the same in words.
            if is_schema(part):
                continue
            if previous is not None:
                self._end_line()
            self._show_part(part, style)
            previous = part

    def _show_part(self, part: Part, style: str | None) -> None:
        match part.kind:
            case "text":
                self._write(part.text or "", style)
            case "data":
                self._show_data(part)
            case "raw":
                kind = f"{part.media_type}, " if part.media_type else ""
                name = part.filename or "a file without a name"
                self._write(f"{name} ({kind}{len(part.raw or b'')} bytes; /save)\n", "bold")
            case "url":
                kind = f" ({part.media_type})" if part.media_type else ""
                self._write(f"{part.filename or 'a file'}{kind} at {part.url}\n", "bold")

    def _show_data(self, part: Part) -> None:
        uses = uses_in((part,))
        if not uses:
            self._write_json(part.data)
        for use in uses:
            self._write(f"wants the tool {use.name}, with\n", "bold")
            self._write_json(use.input)

    def _write_json(self, value: object) -> None:
        self._end_line()
        self._begin()
        document = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
        indented = "\n".join(_INDENT + line for line in printable(document).split("\n"))
        text = JSONHighlighter()(Text(indented))
        self._console.print(text, soft_wrap=True)

    def _write(self, text: str, style: str | None = None) -> None:
        """Write what the agent says, each line indented."""
        self._begin()
        for number, line in enumerate(printable(text).split("\n")):
            if number:
                self._console.out("")
                self._is_at_start = True
            if line:
                head = _INDENT if self._is_at_start else ""
                self._console.out(head + line, style=style, highlight=False, end="")
                self._is_at_start = False

    def _begin(self) -> None:
        """Stop what moves: it would be drawn over an unfinished line."""
        if self._status is not None:
            self.settle()
        self.has_shown = True

    def _line(self, text: str, style: str) -> None:
        self._end_line()
        self._console.out(text, style=style, highlight=False)
