import asyncio
from pathlib import Path

import pytest

from dragoman.cli.errors import CliError
from dragoman.cli.options.options import ASYNC, STREAM, TIMEOUT, WAIT
from dragoman.cli.options.settings import Given
from dragoman.cli.session.following import waits, within_budget
from dragoman.errors import UsageError
from tests.unit.cli.options.test_settings import read

WAIT_FLAG = Given(WAIT, "true", "--wait")
ASYNC_FLAG = Given(ASYNC, "true", "--async")
STREAM_FLAG = Given(STREAM, "true", "--stream")


@pytest.mark.parametrize("by_default", [True, False])
def test_unless_told_the_command_decides(tmp_path: Path, *, by_default: bool) -> None:
    assert waits(read(tmp_path), by_default=by_default) is by_default


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        ((WAIT_FLAG,), {}, True),
        ((ASYNC_FLAG,), {}, False),
        # What stands on the command line is stronger than what is configured.
        ((WAIT_FLAG,), {"A2ACLI_ASYNC": "1"}, True),
        ((ASYNC_FLAG,), {"A2ACLI_WAIT": "1"}, False),
        # Of two that are as strong, waiting loses nothing.
        ((), {"A2ACLI_WAIT": "1", "A2ACLI_ASYNC": "1"}, True),
        ((), {"A2ACLI_ASYNC": "1"}, False),
        ((), {"A2ACLI_WAIT": "0"}, False),
        ((), {"A2ACLI_ASYNC": "0"}, True),
    ],
)
def test_the_stronger_source_counts(
    tmp_path: Path, flags: tuple[Given, ...], environment: dict[str, str], *, expected: bool
) -> None:
    settings = read(tmp_path, *flags, environment=environment)
    assert waits(settings, by_default=True) is expected


@pytest.mark.parametrize("other", [WAIT_FLAG, STREAM_FLAG])
def test_what_excludes_each_other_is_told(tmp_path: Path, other: Given) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        waits(read(tmp_path, other, ASYNC_FLAG), by_default=True)


async def test_the_time_may_be_over(tmp_path: Path) -> None:
    settings = read(tmp_path, Given(TIMEOUT, "10ms", "--timeout"))
    with pytest.raises(CliError) as late:
        async with within_budget(settings, is_live=True):
            await asyncio.sleep(5)
    assert late.value.failure.code == "A2ACLI_ERR_TIMEOUT"
    assert late.value.failure.message == "gave up after 0.01 seconds"


async def test_no_time_is_no_limit(tmp_path: Path) -> None:
    settings = read(tmp_path, Given(TIMEOUT, "0", "--timeout"))
    async with within_budget(settings, is_live=False):
        await asyncio.sleep(0.01)
