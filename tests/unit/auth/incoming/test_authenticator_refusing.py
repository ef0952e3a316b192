from dragoman.auth.incoming.authenticator import BadCredentialsError, refused


def test_the_peer_learns_that_and_the_log_learns_why() -> None:
    reason = BadCredentialsError("it has expired")
    error = refused(reason, 'Bearer realm="a2a"')
    assert error.message == "The credentials are not good"
    assert error.challenges == ('Bearer realm="a2a"',)
    assert error.__cause__ is reason
    assert refused(reason).challenges == ()
