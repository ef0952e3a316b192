"""KeyFile: the file of keys as a server sees it, which may change at any time."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from msgspec import Struct

from dragoman.auth.incoming.authenticator import Principal
from dragoman.auth.incoming.key_records import KeyRecord, merge_uses, read_keys
from dragoman.clock import Clock
from dragoman.errors import UsageError
from dragoman.model.timestamps import format_timestamp

__all__ = ("KeyFile", "KnownKey")

_LOOK_MS: Final = 1_000
"""How often to look whether the file has changed; so long a revoked key may live on."""

_WRITE_MS: Final = 60_000
"""How often the times of last use are written."""

_logger: Final = logging.getLogger(__name__)


class KnownKey(Struct, frozen=True):
    """A key of the file that is not revoked, and who shows it."""

    record: KeyRecord
    principal: Principal

    def is_good(self, now_ms: int) -> bool:
        """Tell whether it has not expired."""
        return not self.principal.expires_ms or now_ms < self.principal.expires_ms


class KeyFile:
    """The file as a server sees it: read again when it has changed.

    Attributes:
        version: grows whenever it is read.
        is_write_due: keys were used, and it is time to write when.
    """

    def __init__(self, path: str | Path, clock: Clock, *, owner_prefix: str) -> None:
        """Read the file.

        Args:
            owner_prefix: put before the name of every owner.

        Raises:
            UsageError: there is none, or it cannot be read.
        """
        self._path = Path(path)
        self._clock = clock
        self._prefix = owner_prefix
        self._uses: dict[str, int] = {}
        self._written_ms = -_WRITE_MS
        self.is_write_due: bool = False
        self._looked_ms = clock.now_ms()
        self._stamp = _stamp(self._path)
        if self._stamp is None:
            raise UsageError(f"there is no {path}: make it with dragoman keys create --keys {path}")
        self.version: int = 0
        self._take(read_keys(self._path))

    def user(self, name: str) -> KnownKey | None:
        """Return what is kept of a user, if it is good now."""
        return self._good(self._by_user.get(name))

    def use(self, digest: str) -> KnownKey | None:
        """Return the key with a hash, if it is good now, and note that it is used.

        All that a request needs, at once. When the times of last use are due to be written,
        ``is_write_due`` says so.

        Constant-time by construction: what is looked up is a hash, and who could measure how much
        of it is right has learnt nothing about the key.
        """
        now_ms = self._clock.now_ms()
        if now_ms - self._looked_ms >= _LOOK_MS:
            self._look(now_ms)
        known = self._by_hash.get(digest)
        if known is None or not known.is_good(now_ms):
            return None
        self._uses[known.record.id] = now_ms
        self.is_write_due = now_ms - self._written_ms >= _WRITE_MS
        return known

    def refresh(self) -> None:
        """Read the file again if it has changed; ``version`` then has, too.

        A file that is gone has no keys. One that cannot be read changes nothing, and is told in the
        log: a slip of the hand must not lock out everybody.
        """
        now_ms = self._clock.now_ms()
        if now_ms - self._looked_ms >= _LOOK_MS:
            self._look(now_ms)

    def _look(self, now_ms: int) -> None:
        self._looked_ms = now_ms
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._take(read_keys(self._path))
        except FileNotFoundError:
            _logger.warning("%s is gone: no key is good any more", self._path)
            self._take(())
        except UsageError as error:
            _logger.error("the keys of before are still in use: %s", error)  # noqa: TRY400 - the message says it all

    async def note_use(self, known: KnownKey) -> None:
        """Remember that a key was used; once a minute it is written, and this waits for it."""
        now_ms = self._clock.now_ms()
        self._uses[known.record.id] = now_ms
        if now_ms - self._written_ms >= _WRITE_MS:
            await self.write_uses()

    async def write_uses(self) -> None:
        """Write when keys were last used, beside the file; failure is told in the log."""
        self._written_ms = self._clock.now_ms()
        self.is_write_due = False
        uses, self._uses = self._uses, {}
        if not uses:
            return
        times = {name: format_timestamp(at_ms) for name, at_ms in uses.items()}
        try:
            await asyncio.to_thread(merge_uses, self._path, times)
        except OSError as error:
            _logger.warning("when keys were last used cannot be kept: %s", error)

    def _good(self, known: KnownKey | None) -> KnownKey | None:
        return known if known is not None and known.is_good(self._clock.now_ms()) else None

    def _take(self, records: tuple[KeyRecord, ...]) -> None:
        known = [KnownKey(one, one.principal(self._prefix)) for one in records if not one.revoked]
        self._by_hash = {one.record.hash: one for one in known if not one.record.is_password}
        self._by_user = {one.record.id: one for one in known if one.record.is_password}
        self.version += 1


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
