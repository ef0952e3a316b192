"""dragoman keys rotate-push-key: change the key that signs notifications, beside a server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.database import STORE, store_of
from dragoman.cli.views.labels import Lines
from dragoman.errors import UsageError
from dragoman.push.signing_keys import SigningKeys
from dragoman.server.webhooks.keys import keys_beside

__all__ = ("ROTATE",)

_PUSH_KEYS: Final = Option[str | None](
    name="push-keys",
    metavar="FILE",
    default=None,
    shown="that beside the store",
    is_configurable=False,
    help="the file with the keys, as dragoman serve is told",
)
_DROP_OLD: Final = Option[bool](
    name="drop-old",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="withdraw the keys of before at once, as when somebody else may have them",
)

_EPILOG: Final = """\
A server that runs publishes the new key at once and signs with it some minutes later, when every
receiver has heard of it. The one before is published for an hour, so that what is on its way can
still be verified.

examples:
  dragoman keys rotate-push-key
  dragoman keys rotate-push-key --push-keys /etc/agent/push-keys.json --drop-old
"""


def _declare(parser: Parser) -> None:
    parser.epilog = _EPILOG
    parser.add_options((_PUSH_KEYS, STORE, _DROP_OLD))


def _rotate(invocation: Invocation) -> int:
    path = _path(invocation)
    if not path.is_file():
        raise UsageError(f"there is no {path}: a server makes it for its first webhook")
    keys = SigningKeys(path)
    keys.rotate(keeps_old=not invocation.settings[_DROP_OLD])
    published = len(keys.jwks()["keys"])
    kid = keys.newest.kid
    invocation.output.show(
        msgspec.json.encode({"file": str(path), "kid": kid, "published": published}),
        lambda: Lines().field("File", path).field("Key", kid).field("Published", published),
    )
    return 0


def _path(invocation: Invocation) -> Path:
    named = invocation.settings[_PUSH_KEYS]
    if named is not None:
        return invocation.surroundings.folder / named
    file = keys_beside(store_of(invocation))
    if file is None:
        raise UsageError("there are no keys beside this store; name their file with --push-keys")
    return invocation.surroundings.folder / file


ROTATE: Final = Body(run=_rotate, declare=_declare)
