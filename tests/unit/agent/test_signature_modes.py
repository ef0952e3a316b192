from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from dragoman.agent.context import Context
from dragoman.agent.results import File, Reply
from dragoman.agent.signature import hints_of, input_modes, inspect_signature, output_modes
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

TEXT, JSON, ANY = "text/plain", "application/json", "*/*"


@dataclass
class Point:
    x: int


async def text(a: str) -> None: ...
async def data(a: int) -> None: ...
async def text_and_data(a: str, b: int) -> None: ...
async def two_texts(a: str, b: str) -> None: ...
async def file(a: File) -> None: ...
async def text_and_files(a: str, b: list[File]) -> None: ...
async def message(a: Message) -> None: ...
async def context(ctx: Context) -> None: ...
async def nothing() -> None: ...


@pytest.mark.parametrize(
    ("function", "modes"),
    [
        (text, (TEXT,)),
        (data, (JSON,)),
        (text_and_data, (TEXT, JSON)),
        (two_texts, (TEXT, JSON)),  # by name
        (file, (ANY,)),
        (text_and_files, (TEXT, ANY)),
        (message, (TEXT, ANY)),  # it looks at the parts itself
        (context, (TEXT, ANY)),  # so may this one, through ctx.message
        (nothing, (TEXT,)),
    ],
)
def test_input_modes_follow_the_parameters(
    function: Callable[..., object], modes: tuple[str, ...]
) -> None:
    signature = inspect_signature(function, "", hints_of(function, ""), is_async=True)
    assert input_modes(signature) == modes


@pytest.mark.parametrize(
    ("annotation", "modes"),
    [
        (str, (TEXT,)),
        (str | None, (TEXT,)),
        (dict[str, int], (JSON,)),
        (list[int], (JSON,)),
        (Point, (JSON,)),
        (int, (JSON,)),
        (bytes, ("application/octet-stream",)),
        (File, (ANY,)),
        (Part, (ANY,)),
        (list[Part], (ANY,)),
        (tuple[File, ...], (ANY,)),
        (Artifact, (ANY,)),
        (str | Point, (TEXT, JSON)),
        (Reply, (TEXT, JSON)),
        (object, (TEXT, JSON)),
        (Any, (TEXT, JSON)),
        (Literal["a"], (TEXT, JSON)),
        (type(None), (TEXT, JSON)),
        (None, (TEXT, JSON)),
    ],
)
def test_output_modes_follow_the_result(annotation: object, modes: tuple[str, ...]) -> None:
    assert output_modes(annotation, is_generator=False) == modes


@pytest.mark.parametrize(
    "annotation", [AsyncIterator[str], AsyncGenerator[str, None], Iterator[str]]
)
def test_output_modes_of_a_generator_follow_its_items(annotation: object) -> None:
    assert output_modes(annotation, is_generator=True) == (TEXT,)
