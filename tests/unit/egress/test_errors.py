from dragoman.egress.errors import DestinationRefusedError, NoAnswerError


def test_a_refusal_of_what_was_looked_up_is_told_from_one_of_the_url() -> None:
    found = DestinationRefusedError("private", "no", "a.example", "10.0.0.1")
    assert str(found) == "a.example (10.0.0.1) may not be called: no"
    assert found.is_of_address
    literal = DestinationRefusedError("private", "no", "10.0.0.1", "10.0.0.1")
    assert str(literal) == "10.0.0.1 may not be called: no"
    assert not literal.is_of_address
    url = DestinationRefusedError("form", "no")
    assert str(url) == "the URL may not be called: no"
    assert not url.is_of_address


def test_who_does_not_answer_is_named() -> None:
    assert str(NoAnswerError("a.example", "why")) == "a.example does not answer: why"
