import pytest

from dragoman.service.principal import ANONYMOUS, NOBODY, Principal
from dragoman.service.service import Call


@pytest.mark.parametrize(
    ("tenants", "tenant", "expected"),
    [
        # None is all of them, the default one included.
        (None, "", True),
        (None, "acme", True),
        (frozenset({"acme"}), "acme", True),
        (frozenset({"acme"}), "ACME", False),
        # Who is for some tenants is not for the default one, unless that is named.
        (frozenset({"acme"}), "", False),
        (frozenset({"", "acme"}), "", True),
        (frozenset[str](), "acme", False),
    ],
)
def test_a_caller_acts_in_its_own_tenants_only(
    tenants: frozenset[str] | None,
    tenant: str,
    expected: bool,  # noqa: FBT001 - a column of a table
) -> None:
    assert Principal(owner="ada", tenants=tenants).may_act_in(tenant) is expected


@pytest.mark.requirement("R-13.1-1")
def test_nobody_has_no_scopes_and_shares_one_owner() -> None:
    assert (NOBODY.owner, NOBODY.scopes) == (ANONYMOUS, frozenset())


def test_a_call_is_made_by_nobody_unless_it_says_by_whom() -> None:
    assert (Call().owner, Call().scopes) == (ANONYMOUS, frozenset())
    ada = Principal(owner="ada", scopes=frozenset({"read"}))
    assert (Call(principal=ada).owner, Call(principal=ada).scopes) == ("ada", {"read"})
