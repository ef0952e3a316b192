import pytest

from dragoman.net.limits import Http1Limits, Http2Limits
from dragoman.server.admission.content import ContentLimits
from dragoman.server.admission.rate_limits import RateSettings
from dragoman.server.limits import limits_of
from dragoman.server.settings import Settings


def test_a_part_gets_the_settings_it_names() -> None:
    settings = Settings(max_headers=7, head_seconds=1.5)
    limits = limits_of(settings, Http1Limits)
    assert (limits.max_headers, limits.head_seconds) == (7, 1.5)
    assert limits.body_seconds == Settings().body_seconds


@pytest.mark.parametrize("kind", [Http1Limits, ContentLimits, Http2Limits, RateSettings])
def test_every_part_names_settings_that_exist(kind: type[Http1Limits]) -> None:
    assert set(kind.__struct_fields__) <= set(Settings.__struct_fields__)
