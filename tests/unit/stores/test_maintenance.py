from msgspec.structs import replace

from dragoman.stores.maintenance import Segment
from tests.unit.stores.shared.test_checking import WORKING


def test_the_last_event_is_what_the_log_says() -> None:
    assert replace(WORKING, segments=()).last_seq == 0
    assert replace(WORKING, segments=(Segment(1, 3, ()), Segment(4, 2, ()))).last_seq == 5
