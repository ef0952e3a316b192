"""The rules for URLs that others name, before anything is looked up. Pure.

Programs read odd URLs differently, and an attack lives of that: one of them finds a harmless host
where the other one calls an inner one. So odd URLs are not interpreted here, but refused.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Final, NoReturn

import idna
from msgspec import Struct

from dragoman.egress.errors import DestinationRefusedError
from dragoman.egress.networks import Address
from dragoman.egress.policy import EgressPolicy

__all__ = ("RULES", "Destination", "UrlRule", "read_url")

_MOST_CHARACTERS: Final = 2048
"""What browsers and servers commonly take."""

_MOST_HOST_CHARACTERS: Final = 253
"""RFC 1035, 2.3.4, without the dot at the end."""

_MOST_PORT: Final = 65535
_PORTS: Final = {"http": 80, "https": 443}


class UrlRule(Struct, frozen=True):
    """One reason to refuse a URL.

    Attributes:
        refuses: what is refused, as the one who gave the URL is told.
        why: what could be done with it.
        examples: URLs that break this rule.
    """

    refuses: str
    why: str
    examples: tuple[str, ...]


RULES: Final = MappingProxyType(
    {
        "length": UrlRule(
            f"it has more than {_MOST_CHARACTERS} characters",
            "nothing honest is as long",
            ("https://hooks.example/" + "a" * _MOST_CHARACTERS,),
        ),
        "characters": UrlRule(
            "it has spaces, backslashes or other characters that must be percent-encoded",
            "some programs drop them or take them for a slash, and find another host",
            (
                "https://hooks.example\\@127.0.0.1/",
                "https://hooks.example/a b",
                "https://127.0.0.1\t/",
                "\nhttps://127.0.0.1/",
                "https://hooks.example/\r\nX-Injected: 1",
                "https://hooks.example/é",
                "https://hooks.example/%zz",
            ),
        ),
        "form": UrlRule(
            "it is not of the form https://host/path",
            "a URL without a host is read as one of this machine",
            ("hooks.example/a", "https:hooks.example", "https:///a", "https://", "//hooks.example"),
        ),
        "scheme": UrlRule(
            "its scheme is not https",
            "http can be read and changed on the way, and file: or gopher: reach further",
            ("http://hooks.example/", "file://localhost/etc/passwd", "gopher://hooks.example/_x"),
        ),
        "fragment": UrlRule(
            "it has a fragment (#)",
            "a fragment is never sent, but moves the end of the host",
            (
                "https://hooks.example/#a",
                "https://hooks.example#@127.0.0.1/",
                "https://a.example/#",
            ),
        ),
        "userinfo": UrlRule(
            "it has a user or a password, or an @ before its path",
            "what stands before the @ looks like the host, and is not",
            (
                "https://user:secret@hooks.example/",
                "https://hooks.example@127.0.0.1/",
                "https://hooks.example:443@127.0.0.1/",
                "https://@127.0.0.1/",
            ),
        ),
        "port": UrlRule(
            "its port is not one that may be called",
            "databases and consoles of operators listen at the others",
            (
                "https://hooks.example:6379/",
                "https://hooks.example:0/",
                "https://hooks.example:99999/",
                "https://hooks.example:/",
                "https://hooks.example:+443/",
            ),
        ),
        "zone": UrlRule(
            "its IPv6 address has a zone (%)",
            "a zone is a link of this machine",
            ("https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1%251]/"),
        ),
        "address": UrlRule(
            "its IP address is not in its usual form",
            "octal, hexadecimal and shortened forms hide 127.0.0.1",
            (
                "https://0177.0.0.1/",
                "https://0x7f.0.0.1/",
                "https://0x7f000001/",
                "https://2130706433/",
                "https://127.1/",
                "https://127.0.0.01/",
                "https://1.2.3.4.5/",
                "https://256.0.0.1/",
                "https://[::g]/",
                "https://[v1.a]/",
                "https://::1/",
            ),
        ),
        "host": UrlRule(
            "its host is not a name of letters, digits, hyphens and dots",
            "unicode dots, look-alike digits and percent signs are made into others on the way",
            (
                "https://127\u30020\u30020\u30021/",
                "https://127\uff0e0\uff0e0\uff0e1/",
                "https://127\uff610\uff610\uff611/",
                "https://\uff11\uff12\uff17.0.0.1/",
                "https://\u24dbocalhost/",
                "https://hoo\u212as.example/",
                "https://localhost./",
                "https://hooks..example/",
                "https://%31%32%37.0.0.1/",
                "https://hooks.example%00.evil.example/",
                "https://" + "a" * 64 + ".example/",
                "https://" + "a.a" * 100 + "/",
            ),
        ),
    }
)
"""In the order in which they are applied."""

_AFTER_HOST: Final = r"(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
_FORM: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?]*)(.*)", re.DOTALL)
_UNCALLED: Final = re.compile(r"[\x00-\x20\x7f\\\"<>^`{|}]")
_PORT: Final = re.compile(r"(.*):([^:\]]*)", re.DOTALL)
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_\-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


class Destination(Struct, frozen=True, kw_only=True):
    """Where a URL leads.

    Attributes:
        url: the URL as it is called: its host is in lower case and ASCII.
        host: a name, or an IP address without brackets.
        address: the host if it is an IP address; a name has yet to be resolved.
    """

    url: str
    host: str
    port: int
    address: Address | None = None


def read_url(text: str, policy: EgressPolicy) -> Destination:
    """Take a URL apart; what the policy says of addresses is not checked yet.

    Raises:
        DestinationRefusedError: it breaks a rule.
    """
    if len(text) > _MOST_CHARACTERS:
        _refuse("length")
    if _UNCALLED.search(text):
        _refuse("characters")
    whole, hash_mark, _ = text.partition("#")
    form = _FORM.fullmatch(whole)
    if form is None or not form[2]:
        _refuse("form")
    scheme, authority, rest = form[1].lower(), form[2], form[3]
    if scheme not in _PORTS or (scheme == "http" and not policy.allow_http):
        _refuse("scheme")
    if hash_mark:
        _refuse("fragment")
    if "@" in authority:
        _refuse("userinfo")
    if not re.fullmatch(_AFTER_HOST, rest):
        _refuse("characters")
    host_text, port = _split_port(authority, _PORTS[scheme], policy)
    host, address = _read_host(host_text)
    shown = f"[{host}]" if isinstance(address, IPv6Address) else host
    place = shown if port == _PORTS[scheme] else f"{shown}:{port}"
    return Destination(url=f"{scheme}://{place}{rest}", host=host, port=port, address=address)


def _split_port(authority: str, usual: int, policy: EgressPolicy) -> tuple[str, int]:
    is_ipv6 = authority.startswith("[")
    found = _PORT.fullmatch(authority)
    if found is None or (is_ipv6 and authority.endswith("]")):
        host, port = authority, usual
    elif not is_ipv6 and ":" in found[1]:
        _refuse("address")
    else:
        host, digits = found[1], found[2]
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 5
        port = int(digits) if is_number else 0
    if not 0 < port <= _MOST_PORT or not policy.may_open(port):
        _refuse("port")
    return host, port


def _read_host(text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        address = _read_ipv6(text)
        return str(address), address
    host = text.lower() if text.isascii() else _ascii_name(text)
    labels = host.split(".")
    if len(host) > _MOST_HOST_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        _refuse("host")
    if not _NUMBER.fullmatch(labels[-1]):
        return host, None
    # The URL Standard: a host whose last label is a number is an IPv4 address, in some form.
    try:
        return host, IPv4Address(host)
    except AddressValueError:
        _refuse("address")


def _read_ipv6(text: str) -> IPv6Address:
    if "%" in text:
        _refuse("zone")
    try:
        return IPv6Address(text[1:].removesuffix("]"))
    except AddressValueError:
        _refuse("address")


def _ascii_name(text: str) -> str:
    """Return an international name as it stands in the DNS (IDNA 2008).

    Nothing is mapped: a mapping makes digits of what only looks like them.
    """
    if any(dot in text for dot in "\u3002\uff0e\uff61"):
        _refuse("host")
    try:
        return idna.encode(text).decode("ascii").lower()
    except UnicodeError:
        _refuse("host")


def _refuse(rule: str) -> NoReturn:
    raise DestinationRefusedError(rule, RULES[rule].refuses)
