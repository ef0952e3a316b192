"""Whom a body says that it is meant for."""

import pytest

from dragoman.extensions.xpr.auth import named_target


@pytest.mark.parametrize(
    ("body", "target"),
    [
        (b'{"params":{"xpr:targetAccount":"bob"}}', "bob"),
        (b'{"params":{"metadata":{"xpr:targetAccount":"bob"}}}', "bob"),
        (b'{"params":{"xpr:targetAccount":"bob","metadata":{"xpr:targetAccount":"eve"}}}', "bob"),
        (b'{"params":{"xpr:targetAccount":5}}', "5"),
        (b'{"params":{"xpr:targetAccount":null}}', None),
        (b'{"params":{"metadata":null}}', None),
        (b'{"params":{}}', None),
        (b"{}", None),
        (b"[]", None),
        (b'{"params":[]}', None),
        (b"", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_targets(body: bytes, target: str | None) -> None:
    assert named_target(body) == target
