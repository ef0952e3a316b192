from pathlib import Path

import pytest

from dragoman.cli.options.options import CA_CERT, INSECURE
from dragoman.cli.session.authorities import asking
from dragoman.errors import UsageError
from tests.support.server.certificates import write_files
from tests.unit.cli.options.test_settings import read
from tests.unit.cli.session.test_credentials import given


async def test_the_machines_own_authorities_will_do(tmp_path: Path) -> None:
    # Who is shown secrets is verified even if the agent is not.
    async with asking(read(tmp_path, given(INSECURE)), tmp_path) as http:
        assert http is None


async def test_those_of_the_user_are_trusted(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    async with asking(read(tmp_path, given(CA_CERT, files.ca)), tmp_path) as http:
        assert http is not None


async def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        async with asking(read(tmp_path, given(CA_CERT, "none.pem")), tmp_path):
            pass
