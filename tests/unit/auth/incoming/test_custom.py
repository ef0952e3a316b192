import pytest

from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.custom import CustomAuthenticator
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.security import APIKeySecurityScheme, SecurityScheme
from tests.support.auth.issuing import refusal, showing

SCHEME = SecurityScheme(
    api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Signature")
)


def identify(evidence: Evidence) -> Principal | None:
    shown = evidence.headers.get(b"x-signature")
    if shown is None:
        return None
    if shown != "good":
        raise UnauthenticatedError("The signature is wrong")
    return Principal(owner="signer")


async def identify_slowly(evidence: Evidence) -> Principal | None:
    return identify(evidence)


@pytest.mark.parametrize("function", [identify, identify_slowly])
async def test_a_function_says_who_calls(function: object) -> None:
    custom = CustomAuthenticator(function, name="signature", scheme=SCHEME, challenge="Signature")  # pyright: ignore[reportArgumentType] - one of the two
    assert await custom.authenticate(showing()) is None
    assert await custom.authenticate(showing(x_signature="good")) == Principal(owner="signer")
    with pytest.raises(UnauthenticatedError, match="signature is wrong"):
        await custom.authenticate(showing(x_signature="bad"))
    assert (custom.name, custom.scheme, custom.challenge) == ("signature", SCHEME, "Signature")


async def test_an_owner_without_a_name_is_nobody() -> None:
    custom = CustomAuthenticator(lambda _: Principal(owner=""), name="s", scheme=SCHEME)
    assert "empty" in await refusal(custom, showing())


async def test_a_function_that_breaks_lets_nobody_in() -> None:
    def broken(_: Evidence) -> Principal | None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await CustomAuthenticator(broken, name="s", scheme=SCHEME).authenticate(showing())


def test_the_card_needs_a_name_for_it() -> None:
    with pytest.raises(UsageError, match="name is missing"):
        CustomAuthenticator(identify, name="", scheme=SCHEME)
