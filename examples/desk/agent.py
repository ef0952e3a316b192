"""Desk: a small agent that is useful without a network and without a model.

Every skill shows another shape of work. Serve it and talk to it in plain text:

    dragoman serve examples/desk/agent.py
"""

import asyncio
import csv
import hashlib
import io
import json
import logging
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from dragoman import Agent, Context, File, Message, Rejected, Reply

SECOND = float(os.environ.get("DESK_SECOND", "1"))  # tests shorten it

agent = Agent("Desk", "Counts, converts, reports and transforms. No network, no model.")


# --- a value: what a skill returns is the artifact of a completed task ----------------------------


@dataclass
class Statistics:
    parts: int
    characters: int
    words: int
    sentences: int
    longest_word: str


@agent.skill(tags=["text"], examples=["The quick brown fox jumps over the lazy dog."])
async def statistics(message: Message) -> Statistics:
    """Count what a message holds: parts, characters, words and sentences."""
    text = text_of(message)
    words = words_of(text)
    return Statistics(
        parts=len(message.parts),
        characters=len(text),
        words=len(words),
        sentences=len(sentences_of(text)),
        longest_word=max(words, key=len, default=""),
    )


def text_of(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if part.text is not None)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+(?:['-]\w+)*", text)


def sentences_of(text: str) -> list[str]:
    return [piece for piece in re.split(r"(?<=[.!?])\s+", text.strip()) if piece]


# --- a question: ctx.ask pauses the task as input-required until the caller answers ---------------


class Unit(StrEnum):
    """A unit: its symbol, what it measures, and how to get to the base unit (m, kg, l, K)."""

    kind: str
    factor: float
    offset: float

    def __new__(cls, symbol: str, kind: str, factor: float, offset: float = 0) -> "Unit":
        unit = str.__new__(cls, symbol)
        unit._value_ = symbol
        unit.kind, unit.factor, unit.offset = kind, factor, offset
        return unit

    CENTIMETRE = "cm", "length", 0.01
    METRE = "m", "length", 1
    KILOMETRE = "km", "length", 1000
    INCH = "in", "length", 0.0254
    MILE = "mi", "length", 1609.344
    KILOGRAM = "kg", "mass", 1
    POUND = "lb", "mass", 0.45359237
    LITRE = "l", "volume", 1
    GALLON = "gal", "volume", 3.785411784
    KELVIN = "K", "temperature", 1
    CELSIUS = "C", "temperature", 1, 273.15
    FAHRENHEIT = "F", "temperature", 5 / 9, 459.67 * 5 / 9


@dataclass
class Conversion:
    value: float
    source: Unit
    target: Unit | None = None


@agent.skill(tags=["units"], examples=["convert 5 km to mi", "convert 20 C", "convert"])
async def convert(ctx: Context, text: str = "", wanted: Conversion | None = None) -> str:
    """Convert lengths, masses, volumes and temperatures; ask for what is missing."""
    # The type is the form: its JSON Schema goes with the question; a wrong answer is asked again.
    known = wanted or read_conversion(text)
    asked = known if known else await ctx.ask("Convert what?", Conversion)
    source, target = asked.source, asked.target
    if target is None:
        target = await ctx.ask(f"Convert {asked.value:g} {source} to what?", Unit)
    if source.kind != target.kind:
        raise Rejected(f"{source} measures {source.kind}, but {target} measures {target.kind}.")
    value = round((asked.value * source.factor + source.offset - target.offset) / target.factor, 12)
    return f"{asked.value:g} {source} is {value:g} {target}"


def read_conversion(text: str) -> Conversion | None:
    found = re.search(r"(-?\d+(?:\.\d+)?)\s*([a-z]+)(?:\s+(?:to|in)\s+([a-z]+))?", text.lower())
    if found is None or (source := unit_called(found[2])) is None:
        return None
    return Conversion(float(found[1]), source, unit_called(found[3] or ""))


def unit_called(word: str) -> Unit | None:
    names = {name.lower(): unit for unit in Unit for name in (unit, unit.name, f"{unit.name}s")}
    return names.get(word)


# --- a stream: every yield is a chunk of one artifact; ctx.say tells how the work goes ------------


@agent.skill(tags=["text"], examples=["report It was a dark night. It rained. It rained a lot."])
async def report(ctx: Context, text: str) -> AsyncIterator[str]:
    """Write a report on a text, section by section: size, outline, frequent words."""
    text = re.sub(r"(?i)^\s*report\b[\s:]*", "", text)
    words = words_of(text)
    if not words:
        raise Rejected("There is nothing to report on; send a text after the word 'report'.")
    openings = [sentences_of(each)[0] for each in re.split(r"\n\s*\n", text) if each.strip()]
    frequent = Counter(word.lower() for word in words if len(word) > 2).most_common(5)
    sections = {
        "Size": [f"{len(words)} words, {len(sentences_of(text))} sentences"],
        "Outline": [f"{number}. {opening}" for number, opening in enumerate(openings, 1)],
        "Frequent words": [f"- {word}: {count}" for word, count in frequent],
    }
    yield "# Report\n"
    for number, (title, lines) in enumerate(sections.items(), 1):
        await ctx.say(f"Section {number} of {len(sections)}: {title}")
        await asyncio.sleep(SECOND / 4)
        yield "\n".join(["", f"## {title}", "", *lines, ""])


# --- files: bytes in, bytes out, and plain words about what is wrong with them --------------------


@agent.skill(tags=["files"])
async def csv_to_json(file: File) -> File:
    """Turn a CSV file with a header line into a JSON file, one object a row."""
    try:
        text = content_of(file).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Rejected(f"This is not a CSV file in UTF-8: {error}.") from error
    header = rows.pop(0)[1] if rows else []
    for line, row in rows:
        if len(row) != len(header):
            raise Rejected(f"Line {line} has {len(row)} cells; the header has {len(header)}.")
    records = [dict(zip(header, row, strict=True)) for _, row in rows]
    return File(
        content=json.dumps(records, ensure_ascii=False, indent=2).encode(),
        name=file.name.removesuffix(".csv") + ".json",
        media_type="application/json",
    )


@agent.skill(tags=["files"])
def checksum(file: File) -> dict[str, str]:
    """Compute the SHA-256 checksum of a file; a plain function, so it runs in a thread."""
    return {"name": file.name, "sha256": hashlib.sha256(content_of(file)).hexdigest()}


def content_of(file: File) -> bytes:
    if file.content is None:
        raise Rejected("Send the file itself: this agent fetches no addresses.")
    return file.content


# --- canceling: the sleeping coroutine is stopped, then the hook may clean up ---------------------

seconds_left: dict[str, int] = {}


async def stop_clock(ctx: Context) -> None:
    left = seconds_left.pop(ctx.task_id, 0)
    logging.getLogger("desk").info("task %s canceled with %d to go", ctx.task_id, left)


@agent.skill(tags=["time"], examples=["count down from 10"], on_cancel=stop_clock)
async def countdown(ctx: Context, text: str) -> AsyncIterator[str]:
    """Count down the seconds; meant to be followed, and to be canceled."""
    number = re.search(r"\d+", text)
    for left in range(int(number[0]) if number else 10, 0, -1):
        seconds_left[ctx.task_id] = left
        yield f"{left} "
        await asyncio.sleep(SECOND)
    del seconds_left[ctx.task_id]
    yield "Go!"


# --- other endings: a direct answer without a task, and a failure ---------------------------------


@agent.skill(id="help", examples=["help"])
async def describe_skills() -> Reply:
    """Say what this agent can do, in a message and without a task."""
    return Reply("\n".join(f"{skill.id}: {skill.description}" for skill in agent.skills))


@agent.skill(tags=["demo"])
async def fail() -> None:
    """Fail on purpose: the caller gets an error id, the log gets the traceback."""
    raise RuntimeError("something is broken")


# --- which skill? The one named by metadata (skillId), else the one chosen here -------------------

KEYWORDS: dict[str, Callable[..., object]] = {
    "convert": convert,
    "report": report,
    "count down": countdown,
    "help": describe_skills,
}


@agent.route
def choose(message: Message) -> Callable[..., object]:
    """Go by the first words of a text, or by what else there is; plain text is counted."""
    for keyword, skill in KEYWORDS.items():
        if re.match(rf"\s*{keyword}\b", text_of(message), re.IGNORECASE):
            return skill
    files = [part.filename.lower() for part in message.parts if part.kind in ("raw", "url")]
    if files:
        return csv_to_json if files[0].endswith(".csv") else checksum
    match message.parts[0].data:
        case {"value": int() | float()}:
            return convert
        case _:
            return statistics
