"""Where results, warnings and failures go, and in which form.

Standard output has the result alone, or in JSON the one error object; everything else goes to
standard error. The form depends on the command line only: a terminal gets the same bytes as a pipe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace

from dragoman.auth.shared.redaction import REDACTED
from dragoman.cli.errors import Failure
from dragoman.cli.views.labels import Lines, cleaned

__all__ = ("LEAST_SECRET", "Output")

LEAST_SECRET: Final = 4
"""Characters; what is shorter would be taken out of the middle of harmless words."""


class Output:
    """The two streams of a run, and the form that was asked for.

    Attributes:
        is_compact: JSON has one line per object.
        is_verbose: text leaves nothing out.
        secrets: what never appears in a diagnostic, whoever has put it there.
    """

    def __init__(self, stdout: BinaryIO, stderr: BinaryIO) -> None:
        """Take the streams; the form is text until somebody says otherwise."""
        self._stdout = stdout
        self._stderr = stderr
        self.is_json = False
        self.is_compact = False
        self.is_verbose = False
        self.secrets: tuple[str, ...] = ()

    def hide(self, *secrets: str) -> None:
        """Let secrets that were learnt on the way appear in no diagnostic."""
        long = (secret for secret in secrets if len(secret) >= LEAST_SECRET)
        self.secrets = tuple(dict.fromkeys((*self.secrets, *long)))

    def show(self, document: bytes, lines: Callable[[], Lines]) -> None:
        """Print a result: the JSON as it is, or its text; what is printed is on its way at once."""
        if not self.is_json:
            self.print(lines().text())
            return
        if not self.is_compact:
            document = msgspec.json.format(document, indent=2)
        self._write(self._stdout, document + b"\n")

    def print(self, text: str) -> None:
        """Print a text that has one form only."""
        self._write(self._stdout, _encoded(text))

    def note(self, *lines: str) -> None:
        """Say on standard error what is good to know."""
        text = "".join(f"{cleaned(self._without_secrets(line))}\n" for line in lines)
        self._write(self._stderr, _encoded(text))

    def warn(self, text: str) -> None:
        """Say on standard error what should be looked at."""
        self.note(f"Warning: {text}")

    def fail(self, failure: Failure) -> None:
        """Tell why there is no result."""
        failure = replace(failure, message=self._without_secrets(failure.message))
        if self.is_json:
            self.show(failure.document(), Lines)
            return
        lines = Lines().field("Error", failure.message).field("Code", failure.code)
        if failure.hint is not None:
            lines.field("Hint", failure.hint)
        if failure.a2a_code is not None:
            lines.field("A2A code", failure.a2a_code)
        self._write(self._stderr, _encoded(lines.text()))

    def _without_secrets(self, text: str) -> str:
        """Take credentials out of a text that somebody else may have written."""
        for secret in self.secrets:
            text = text.replace(secret, REDACTED)
        return text

    def _write(self, stream: BinaryIO, data: bytes) -> None:
        stream.write(data)
        stream.flush()


def _encoded(text: str) -> bytes:
    # What JSON escapes may spell characters that UTF-8 has no bytes for.
    return text.encode("utf-8", "replace")
