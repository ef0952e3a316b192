import argparse
import io
import json
from pathlib import Path

import pytest

from dragoman.cli.command import Invocation
from dragoman.cli.commands.send import OPTIONS, build_request
from dragoman.cli.options.options import ASYNC, CONTEXT_ID, METADATA, STREAM, TASK_ID, Option
from dragoman.cli.options.settings import Given
from dragoman.cli.output import Output
from dragoman.cli.session.progress import Progress
from dragoman.cli.surroundings import Surroundings
from dragoman.errors import UsageError
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from tests.unit.cli.options.test_settings import read

BY_NAME: dict[str, Option[object]] = {
    option.name: option for option in (*OPTIONS, ASYNC, CONTEXT_ID, METADATA, STREAM, TASK_ID)
}
PAYLOAD = json.dumps(
    {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "whole"}]}}
)


class Call:
    """A command line; ``err`` is what was said while its request was built."""

    def __init__(
        self, folder: Path, *flags: str, text: str | None = "hi", **variables: str
    ) -> None:
        given: list[Given] = []
        for flag in flags:
            name, _, value = flag.partition("=")
            given.append(Given(BY_NAME[name], value or "true", f"--{name}"))
        self._err = io.BytesIO()
        settings = read(folder, *given, environment=variables)
        self.invocation = Invocation(
            arguments=argparse.Namespace(text=text),
            settings=settings,
            output=Output(io.BytesIO(), self._err),
            surroundings=Surroundings(
                environment={},
                folder=folder,
                settings_folder=folder,
                stdin=io.BytesIO(),
                stdout=io.BytesIO(),
                stderr=self._err,
            ),
            progress=Progress(settings),
            parsers={},
        )

    @property
    def request(self) -> SendMessageRequest:
        return build_request(self.invocation)

    @property
    def err(self) -> str:
        return self._err.getvalue().decode()


def test_no_id_is_made_up_but_that_of_the_message(tmp_path: Path) -> None:
    first, second = Call(tmp_path).request, Call(tmp_path).request
    assert first.message.message_id != second.message.message_id
    assert (first.message.task_id, first.message.context_id) == ("", "")
    assert (first.configuration, first.metadata, first.message.metadata) == (None, None, None)


def test_everything_that_was_said_is_in_it(tmp_path: Path) -> None:
    request = Call(
        tmp_path,
        "message-id=m-1",
        "task-id=t-1",
        "context-id=c-1",
        'metadata={"a": 1}',
        'message-metadata={"b": 2}',
        "history=0",
        "accept=text/plain",
        "accept=image/png",
    ).request
    message = request.message
    assert (message.message_id, message.task_id, message.context_id) == ("m-1", "t-1", "c-1")
    assert (request.metadata, message.metadata) == ({"a": 1}, {"b": 2})
    assert request.configuration == SendMessageConfiguration(
        history_length=0, accepted_output_modes=("text/plain", "image/png")
    )


def test_a_prompt_return_is_asked_for(tmp_path: Path) -> None:
    wanted = SendMessageConfiguration(return_immediately=True)
    assert Call(tmp_path, "async").request.configuration == wanted
    assert Call(tmp_path, A2ACLI_ASYNC="1").request.configuration == wanted
    # Following live is waiting, whatever is configured.
    assert Call(tmp_path, "stream", A2ACLI_ASYNC="1").request.configuration is None


def test_a_whole_request_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(PAYLOAD)
    for place in (PAYLOAD, "request.json"):
        request = Call(tmp_path, f"request-payload={place}", text=None).request
        assert request.message.parts == (Part(text="whole"),)
    prompt = Call(tmp_path, f"request-payload={PAYLOAD}", "async", text=None).request
    assert prompt.configuration == SendMessageConfiguration(return_immediately=True)


@pytest.mark.parametrize(
    ("flags", "text", "told"),
    [
        ((f"request-payload={PAYLOAD}",), "hi", "leave out the text"),
        ((f"request-payload={PAYLOAD}", "task-id=t"), None, "leave out --task-id"),
        ((f"request-payload={PAYLOAD}", "text=x"), None, "leave out --text"),
        (("request-payload={}",), None, "no SendMessageRequest: .*message"),
        (("request-payload=none.json",), None, "cannot read none.json"),
    ],
)
def test_what_makes_no_request_is_told(
    tmp_path: Path, flags: tuple[str, ...], text: str | None, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        _ = Call(tmp_path, *flags, text=text).request


def test_a_large_file_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(4 * 1024 * 1024 + 1))
    call = Call(tmp_path, "file=large")
    assert call.request.message.parts[1].raw is not None
    assert call.err == "Warning: the files have 4194305 bytes; send large ones as a URL\n"
