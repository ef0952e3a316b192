import pytest

from dragoman.egress import Egress
from dragoman.errors import InvalidParamsError
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.push.registration import check_registration
from tests.support.egress.hosts import Names

URL = "https://hooks.example/a"


async def violations_of(
    url: str = URL, *, token: str = "", scheme: str = "", credentials: str = ""
) -> dict[str, str]:
    """Return what is wrong with a webhook, by field."""
    shown = AuthenticationInfo(scheme=scheme, credentials=credentials) if scheme else None
    config = TaskPushNotificationConfig(task_id="t-1", url=url, token=token, authentication=shown)
    names = Names(hooks_example="93.184.216.34", inside_example="10.0.0.1")
    async with Egress(resolver=names) as egress:
        try:
            await check_registration(config, egress)
        except InvalidParamsError as error:
            return {
                each.field: each.description
                for each in error.violations
                if each.description in str(error)
            }
    return {}


@pytest.mark.parametrize(
    ("scheme", "credentials"),
    [
        ("", ""),
        ("Bearer", "abc"),
        ("Basic", "me:pass word"),
        ("ApiKey", "k"),
        ("HMAC", "a secret that is long enough"),
        # Without credentials there is nothing to show.
        ("Bearer", ""),
    ],
)
async def test_what_can_be_called_can_be_registered(scheme: str, credentials: str) -> None:
    assert await violations_of(token="tök", scheme=scheme, credentials=credentials) == {}  # noqa: S106 - of a test


async def test_a_rule_for_urls_is_told() -> None:
    assert "https" in (await violations_of("http://hooks.example/"))["url"]
    assert "port" in (await violations_of("https://hooks.example:22/"))["url"]
    assert "not a public one" in (await violations_of("https://10.0.0.1/"))["url"]


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("http://hooks.example/", "--push-allow-http"),
        ("https://hooks.example:8443/", "--push-ports"),
        ("https://127.0.0.1/", "--push-allow-hosts"),
        ("https://[fd00::1]/", "--push-allow-hosts"),
        ("https://inside.example/", "--push-allow-hosts"),
    ],
)
async def test_what_would_allow_it_is_told(url: str, option: str) -> None:
    assert option in (await violations_of(url))["url"]


@pytest.mark.parametrize("url", ["https://169.254.169.254/", "https://a@hooks.example/"])
async def test_what_nobody_should_allow_comes_without_advice(url: str) -> None:
    assert "--push" not in (await violations_of(url))["url"]


async def test_a_name_inside_looks_like_one_that_there_is_not() -> None:
    inside = await violations_of("https://inside.example/")
    assert inside == await violations_of("https://nowhere.example/")
    assert inside["url"].startswith("its host is not found, or not where it may be called")


@pytest.mark.parametrize("secret", ["a\r\nX: y", "日本", " a", "a" * 5000])
async def test_a_secret_that_cannot_be_sent_is_told_by_its_field(secret: str) -> None:
    assert list(await violations_of(token=secret)) == ["token"]
    assert list(await violations_of(scheme="ApiKey", credentials=secret)) == ["authentication"]


async def test_a_scheme_that_cannot_be_sent_is_told() -> None:
    assert list(await violations_of(scheme="Be\narer", credentials="x")) == ["authentication"]


async def test_a_secret_to_sign_with_must_be_a_good_one() -> None:
    weak = await violations_of(scheme="HMAC", credentials="short")
    assert "24 bytes" in weak["authentication.credentials"]


async def test_all_that_is_wrong_is_told_at_once() -> None:
    assert set(await violations_of("ftp://a.example/", token="\n")) == {"token", "url"}  # noqa: S106 - of a test
