"""dragoman keys create-card-key, sign-card and rotate-push-key: keys that sign."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from joserfc.jwk import ECKey, OKPKey, RSAKey

from dragoman.auth.cards.jws import BadSignatureError, read_jws
from dragoman.auth.cards.signing import CardSigner
from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.db import STORE, store_of
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.views.labels import Lines
from dragoman.dialects.fields import Fields, read_json
from dragoman.errors import A2AError, UsageError
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentCardSignature
from dragoman.push.signing_keys import SigningKeys
from dragoman.server.webhooks.keys import keys_beside

__all__ = (
    "CREATE_CARD_KEY",
    "ROTATE",
    "SIGN_CARD",
)


_RSA_BITS: Final = 3072
"""What NIST SP 800-57 asks of keys that are to last beyond 2030."""

_STDIN: Final = "-"

_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_ALGORITHMS: Final = (*_CURVES, "EdDSA", "RS256", "PS256")

_ALGORITHM: Final = Option[str](
    name="algorithm",
    metavar="NAME",
    default="ES256",
    is_configurable=False,
    help=f"what the key signs with: {', '.join(_ALGORITHMS)}",
)
_KID: Final = Option[str](
    name="kid",
    metavar="NAME",
    default="",
    shown="a hash of the key",
    is_configurable=False,
    help="the name of the key in signatures",
)
_CARD_KEY: Final = Option[str](
    name="card-key",
    metavar="FILE",
    default="card-key.json",
    is_configurable=False,
    help="the private key: JWK, or PEM without a password",
)
_JKU: Final = Option[str](
    name="jku",
    metavar="URL",
    default="",
    is_configurable=False,
    help="where verifiers can get the public key",
)


# --- create-card-key ------------------------------------------------------------------------------


def _declare_create(parser: Parser) -> None:
    parser.add_options((_ALGORITHM, _KID, _CARD_KEY))


def _create(invocation: Invocation) -> int:
    settings = invocation.settings
    algorithm = settings[_ALGORITHM]
    if algorithm not in _ALGORITHMS:
        raise UsageError(f"--algorithm must be one of {', '.join(_ALGORITHMS)}")
    key = _generate(algorithm)
    kid = settings[_KID] or key.thumbprint()
    private = {**key.as_dict(private=True), "kid": kid, "alg": algorithm, "use": "sig"}
    path = invocation.surroundings.folder / settings[_CARD_KEY]
    _write_new(path, msgspec.json.format(msgspec.json.encode(private), indent=2) + b"\n")
    (public,) = CardSigner(private).public_keys["keys"]
    invocation.output.show(
        msgspec.json.encode({"file": settings[_CARD_KEY], "kid": kid, "publicKey": public}),
        lambda: (
            Lines()
            .field("File", settings[_CARD_KEY])
            .field("Kid", kid)
            .field("Public key", msgspec.json.encode(public).decode())
        ),
    )
    return 0


def _generate(algorithm: str) -> ECKey | OKPKey | RSAKey:
    if algorithm in _CURVES:
        return ECKey.generate_key(_CURVES[algorithm])  # pyright: ignore[reportArgumentType] - one of its names
    if algorithm == "EdDSA":
        return OKPKey.generate_key("Ed25519")
    return RSAKey.generate_key(_RSA_BITS)


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, and that is not there yet."""
    try:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(data)
    except FileExistsError:
        raise UsageError(f"{path} is there already; what it has signed would be lost") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


# --- sign-card ------------------------------------------------------------------------------------


def _declare_sign(parser: Parser) -> None:
    parser.add_argument("card", metavar="CARD", help="the file with the card, - for standard input")
    parser.add_options((_CARD_KEY, _KID, _JKU))


def _sign(invocation: Invocation) -> int:
    settings, folder = invocation.settings, invocation.surroundings.folder
    signer = CardSigner(folder / settings[_CARD_KEY], kid=settings[_KID], jku=settings[_JKU])
    document = _read(invocation, invocation.arguments.card)
    try:
        card = Fields(read_json(document)).whole
        made = signer.signatures(document)
    except A2AError as error:
        raise UsageError(f"{invocation.arguments.card} is no card: {error.message}") from None
    kept = [one for one in _signatures_of(card) if _kid_of(one) not in _kids(signer)]
    signed = {**card, "signatures": [*kept, *msgspec.to_builtins(made)]}
    # A card is a JSON document in any form of output.
    invocation.output.print(
        msgspec.json.format(msgspec.json.encode(signed), indent=2).decode() + "\n"
    )
    return 0


def _read(invocation: Invocation, name: str) -> bytes:
    if name == _STDIN:
        return invocation.surroundings.stdin.read()
    try:
        return (invocation.surroundings.folder / name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


def _signatures_of(card: JsonObject) -> list[object]:
    found = card.get("signatures")
    return found if values.is_list(found) else []


def _kids(signer: CardSigner) -> set[object]:
    return {key["kid"] for key in signer.public_keys["keys"]}


def _kid_of(signature: object) -> str | None:
    """Return the name of the key that has made a signature: signing again replaces its own."""
    try:
        return read_jws(msgspec.convert(signature, AgentCardSignature)).kid
    except (msgspec.ValidationError, BadSignatureError):
        return None


CREATE_CARD_KEY: Final = Body(run=_create, declare=_declare_create)
SIGN_CARD: Final = Body(run=_sign, declare=_declare_sign)


# --- rotate-push-key ------------------------------------------------------------------------------

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
