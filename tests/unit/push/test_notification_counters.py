from dragoman.push.notification import PushCounters
from dragoman.push.schedule import Again, Dead, Done


def test_each_step_is_counted_as_what_it_is() -> None:
    counters = PushCounters()
    for step in (Done(), Again(5), Again(6), Dead("HTTP status 410"), Done(), Done()):
        counters.note(step)
    assert counters == PushCounters(delivered=3, retried=2, dead=1)
