"""Reads the YAML that ``deploy/`` is written in: blocks, short flow collections, plain scalars.

It is a part of YAML that leaves nothing to guess. What is beyond it (anchors, tags, folded text,
tabs) is refused, and so is what readers disagree about: ``yes``, ``on``, numbers with leading
zeros. Scalars are numbers, true, false, null, or text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ("read_documents",)

Node = Any
"""Mappings, lists and scalars: what is in them is what a test asserts."""

_KEY: Final = re.compile(r"""(?P<key>"[^"]*"|[A-Za-z0-9_./@-]+):(?: +(?P<rest>.*))?$""")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]*")
_AMBIGUOUS: Final = re.compile(r"(?i)yes|no|on|off|y|n|~|0[0-9]+|[0-9]+:[0-9:]+")
_FLOW_TOKEN: Final = re.compile(r"""\s*("[^"]*"|[\[\]{},]|:(?=\s)|(?:[^\[\]{},:"]|:(?!\s))+)""")
_REFUSED: Final = tuple("&*!|>%`'?")


class _Line:
    __slots__ = ("indent", "number", "text")

    def __init__(self, number: int, indent: int, text: str) -> None:
        self.number = number
        self.indent = indent
        self.text = text


def read_documents(text: str) -> list[Node]:
    """Return the documents of a file; raises ValueError with the line for anything unexpected."""
    documents: list[list[_Line]] = [[]]
    for number, raw in enumerate(text.splitlines(), 1):
        if "\t" in raw:
            raise ValueError(f"line {number}: a tab")
        if raw.startswith("---"):
            documents.append([])
            continue
        content = _without_comment(raw)
        if content:
            indent = len(content) - len(content.lstrip())
            documents[-1].append(_Line(number, indent, content.strip()))
    return [_whole(lines) for lines in documents if lines]


def _without_comment(raw: str) -> str:
    """Cut a comment off, which begins with # at the start or after a space outside quotes."""
    is_quoted = False
    for at, character in enumerate(raw):
        if character == '"':
            is_quoted = not is_quoted
        elif character == "#" and not is_quoted and (at == 0 or raw[at - 1] == " "):
            return raw[:at].rstrip()
    return raw.rstrip()


def _whole(lines: list[_Line]) -> Node:
    node = _block(lines, lines[0].indent)
    if lines:
        raise ValueError(f"line {lines[0].number}: it belongs to nothing")
    return node


def _block(lines: list[_Line], indent: int) -> Node:
    return _list(lines, indent) if lines[0].text.startswith("- ") else _mapping(lines, indent)


def _list(lines: list[_Line], indent: int) -> list[Node]:
    items: list[Node] = []
    while lines and lines[0].indent == indent and lines[0].text.startswith("- "):
        line = lines[0]
        inner = line.text[2:].lstrip()
        if _KEY.match(inner):
            # A mapping that begins on the line of its dash.
            depth = indent + len(line.text) - len(inner)
            lines[0] = _Line(line.number, depth, inner)
            items.append(_mapping(lines, depth))
        else:
            del lines[0]
            items.append(_value(inner, line.number))
    return items


def _mapping(lines: list[_Line], indent: int) -> dict[str, Node]:
    found: dict[str, Node] = {}
    while lines and lines[0].indent == indent and not lines[0].text.startswith("- "):
        line = lines.pop(0)
        match = _KEY.match(line.text)
        if match is None:
            raise ValueError(f"line {line.number}: no key: {line.text}")
        key = match["key"].strip('"')
        if key in found:
            raise ValueError(f"line {line.number}: {key} stands there twice")
        if match["rest"]:
            found[key] = _value(match["rest"], line.number)
        elif lines and lines[0].indent > indent:
            found[key] = _block(lines, lines[0].indent)
        else:
            raise ValueError(f"line {line.number}: {key} has no value")
    return found


def _value(text: str, number: int) -> Node:
    if text[0] not in "[{":
        return _scalar(text, number)
    tokens = _FLOW_TOKEN.findall(text)
    if "".join(tokens).replace(" ", "") != text.replace(" ", ""):
        raise ValueError(f"line {number}: no flow collection: {text}")
    try:
        node = _flow(tokens, number)
    except IndexError:
        raise ValueError(f"line {number}: {text} does not end") from None
    if tokens:
        raise ValueError(f"line {number}: {tokens[0]} is left over")
    return node


def _flow(tokens: list[str], number: int) -> Node:
    first = tokens.pop(0).strip()
    if first == "[":
        items: list[Node] = []
        while tokens[0] != "]":
            items.append(_flow(tokens, number))
            _pass_comma(tokens, "]")
        del tokens[0]
        return items
    if first == "{":
        found: dict[str, Node] = {}
        while tokens[0] != "}":
            key = tokens.pop(0).strip().strip('"')
            if tokens.pop(0) != ":":
                raise ValueError(f"line {number}: {key} has no value")
            found[key] = _flow(tokens, number)
            _pass_comma(tokens, "}")
        del tokens[0]
        return found
    return _scalar(first, number)


def _pass_comma(tokens: list[str], end: str) -> None:
    if tokens[0] == ",":
        del tokens[0]
    elif tokens[0] != end:
        raise ValueError(f"{tokens[0]} where a comma or {end} was expected")


def _scalar(text: str, number: int) -> str | int | bool | None:
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith((*_REFUSED, "- ")) or _AMBIGUOUS.fullmatch(text) or ": " in text:
        raise ValueError(f"line {number}: readers disagree about {text}; put it in quotes")
    if text in ("true", "false", "null"):
        return json.loads(text)
    return int(text) if _NUMBER.fullmatch(text) else text
