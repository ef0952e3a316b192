"""Nobody gets a server to call inside: whatever the address looks like, nothing is sent.

A port of this machine listens, on both loopbacks, and the rules for ports and schemes are out of
the way, so that what keeps callers from it is the rule under test alone.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator

import httpx2
import pytest

from dragoman.clock import SystemClock
from dragoman.egress import DestinationRefusedError, Egress, EgressPolicy, NoAnswerError
from dragoman.egress.networks import REFUSED, Range
from dragoman.egress.urls import RULES
from dragoman.errors import InvalidParamsError
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.push.delivery import Deliverer
from dragoman.push.notification import OutgoingNotification
from dragoman.push.registration import check_registration
from dragoman.push.schedule import Forbidden
from tests.support.egress.hosts import NAME, Names, Trap, answering, hosting, trap

PUBLIC = "93.184.216.34"
PARCEL = OutgoingNotification(id="n-1", body=b"{}", headers={})
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Made once: the authorities of the machine take their time to load, and nobody gets that far."""


@pytest.fixture
def inside() -> Generator[Trap]:
    with trap() as found:
        yield found


def policy_for(port: int, *allowed: str) -> EgressPolicy:
    """Return a policy with nothing in the way but what it says of hosts and addresses."""
    exceptions = EgressPolicy.of(*allowed).allowed
    return EgressPolicy(
        allow_http=True, ports=frozenset({port}), allowed=exceptions, total_seconds=0.5
    )


def webhook(url: str) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(task_id="t-1", url=url)


async def deliver(egress: Egress, url: str) -> object:
    """Try to deliver a notification."""
    return await Deliverer(egress, clock=SystemClock()).deliver(webhook(url), PARCEL)


async def assert_refused(egress: Egress, url: str) -> None:
    """Show that a webhook can neither be registered nor called, however it is tried."""
    with pytest.raises(InvalidParamsError) as told:
        await check_registration(webhook(url), egress)
    assert [violation.field for violation in told.value.violations] == ["url"]
    assert isinstance(await deliver(egress, url), Forbidden)
    with pytest.raises((DestinationRefusedError, httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        # Not closed: the egress would be closed with it.
        await httpx2.AsyncClient(transport=egress).post(url, content=b"{}")


LITERALS = [
    # As people write it.
    "127.0.0.1",
    "127.8.8.8",
    "[::1]",
    "0.0.0.0",  # noqa: S104 - called, not bound
    "[::]",
    # In other numbers.
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "127.1",
    "127.0.1",
    "0",
    # IPv4 inside of IPv6.
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    # Zones.
    "[fe80::1%25lo]",
    "[fe80::1%lo]",
    "[::1%25lo]",
    # Users, and hosts that look like others.
    "hooks.example@127.0.0.1",
    "user:pass@127.0.0.1",
    "127.0.0.1\\@hooks.example",
    "127.0.0.1#@hooks.example",
    "127.0.0.1%23@hooks.example",
    # Unicode: dots, digits and letters.
    "127\u30020\u30020\u30021",
    "127\uff0e0\uff0e0\uff0e1",
    "127\uff610\uff610\uff611",
    "\uff11\uff12\uff17.0.0.1",
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
    # Codes that somebody on the way undoes.
    "%31%32%37.0.0.1",
    "127.0.0.1%2e",
    "127.0.0.1.",
    "127.0.0.1%00.hooks.example",
    "127.0.0.1\t",
    "127.0.0.1 ",
]


@pytest.mark.requirement("R-13.2-5", "R-13.2-6", "R-13.2-7", "R-T.str-7")
@pytest.mark.parametrize("host", LITERALS, ids=ascii)
async def test_no_form_of_an_address_leads_inside(inside: Trap, host: str) -> None:
    async with Egress(policy_for(inside.port), context=TRUST) as egress:
        await assert_refused(egress, f"http://{host}:{inside.port}/hook")
    assert inside.callers() == 0


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "localhost."])
async def test_the_names_of_this_machine_lead_nowhere(inside: Trap, host: str) -> None:
    async with Egress(policy_for(inside.port), context=TRUST) as egress:
        url = f"http://{host}:{inside.port}/"
        with pytest.raises(InvalidParamsError):
            await check_registration(webhook(url), egress)
        await deliver(egress, url)
    assert inside.callers() == 0


@pytest.mark.parametrize("each", REFUSED, ids=lambda each: str(each.network))
async def test_a_name_that_leads_inside_is_not_called(inside: Trap, each: Range) -> None:
    for address in {each.network[0], each.network[-1]}:
        async with Egress(
            policy_for(inside.port), resolver=Names(hooks_test=str(address))
        ) as egress:
            await assert_refused(egress, f"http://{NAME}:{inside.port}/hook")
            # Nobody learns from us what it is that the name leads to.
            with pytest.raises(InvalidParamsError) as told:
                await check_registration(webhook(f"http://{NAME}:{inside.port}/"), egress)
            assert str(address) not in str(told.value)
    assert inside.callers() == 0


@pytest.mark.parametrize(
    "addresses",
    [f"{PUBLIC} 127.0.0.1", f"127.0.0.1 {PUBLIC}", f"{PUBLIC} ::ffff:127.0.0.1", "fe80::1%lo"],
)
async def test_one_inner_address_among_others_is_enough(inside: Trap, addresses: str) -> None:
    async with Egress(
        policy_for(inside.port), resolver=Names(hooks_test=addresses), context=TRUST
    ) as egress:
        await assert_refused(egress, f"http://{NAME}:{inside.port}/hook")
    assert inside.callers() == 0


async def test_a_name_that_moves_inside_after_it_was_checked_is_not_called(inside: Trap) -> None:
    names = Names(hooks_test=(PUBLIC, "127.0.0.1"))
    async with Egress(policy_for(inside.port), resolver=names, context=TRUST) as egress:
        url = f"http://{NAME}:{inside.port}/hook"
        await check_registration(webhook(url), egress)
        outcome = await deliver(egress, url)
        assert isinstance(outcome, Forbidden)
        assert outcome.is_of_address
    assert inside.callers() == 0


async def test_between_the_check_and_the_connection_nobody_is_asked_again(inside: Trap) -> None:
    # The second answer would be another machine's: who asks once is never given it.
    names = Names(hooks_test=("127.0.0.1", "169.254.169.254"))
    policy = policy_for(inside.port, NAME)
    async with Egress(policy, resolver=names, context=TRUST) as egress:
        # Nobody answers at the trap; but that is where the call has gone.
        with pytest.raises(NoAnswerError):
            await egress.ask("POST", f"http://{NAME}:{inside.port}/hook", headers={})
    assert inside.callers() == 1
    assert names.asked == [NAME]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_an_open_redirect_leads_nowhere(inside: Trap, status: int) -> None:
    away = f"HTTP/1.1 {status} Away\r\nLocation: http://127.0.0.1:{inside.port}/\r\n"
    async with hosting(answering(f"{away}Content-Length: 0\r\n\r\n".encode())) as host:
        policy = policy_for(inside.port, f"{NAME}:{host.port}")
        async with Egress(policy, resolver=Names(hooks_test="127.0.0.1"), context=TRUST) as egress:
            answer = await egress.ask("POST", host.url, headers={}, body=b"{}")
            assert answer.status == status
            follower = httpx2.AsyncClient(transport=egress, follow_redirects=True)
            with pytest.raises(DestinationRefusedError):
                await follower.post(host.url, content=b"{}")
    assert inside.callers() == 0


EXAMPLES = [url for each in RULES.values() for url in each.examples]


@pytest.mark.parametrize("url", EXAMPLES, ids=lambda url: ascii(url)[:60])
async def test_no_url_that_breaks_a_rule_is_looked_up_or_called(url: str) -> None:
    names = Names(hooks_example=PUBLIC, a_example=PUBLIC)
    async with Egress(resolver=names, context=TRUST) as egress:
        with pytest.raises(InvalidParamsError):
            await check_registration(webhook(url), egress)
        assert isinstance(await deliver(egress, url), Forbidden)
    assert names.asked == []


async def test_the_trap_would_have_noticed(inside: Trap) -> None:
    policy = policy_for(inside.port, "127.0.0.1", NAME)
    async with Egress(policy, resolver=Names(hooks_test="127.0.0.1"), context=TRUST) as egress:
        for host in ("127.0.0.1", NAME):
            with pytest.raises(NoAnswerError):
                await egress.ask("POST", f"http://{host}:{inside.port}/hook", headers={})
            assert inside.callers() == 1
