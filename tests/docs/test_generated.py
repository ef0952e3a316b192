"""Tables and diagrams in the documentation say what the code says.

Each stands between ``<!-- name:start -->`` and ``<!-- name:end -->``. After a change of the code,
write them anew with ``UPDATE_DOCS=1 make test ARGS=tests/docs/test_generated.py``.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benches import capacity
from dragoman.dialects.registry import profile_names
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.egress.networks import REFUSED
from dragoman.egress.urls import RULES as URL_RULES
from dragoman.engine.states import BEGINNING, MOVES
from dragoman.errors import SPELLINGS
from dragoman.model.operations import Operation
from dragoman.model.tasks import TaskState
from dragoman.server.settings import ProcessSettings, Settings, setting_fields
from dragoman.stores.sqlite.maintenance import RULES
from tests.interop import peculiarities
from tests.interop.lines import IMPLEMENTATIONS, LINES
from tests.interop.peculiarities import Peculiarity
from tests.scenarios.bindings import OPERATIONS
from tests.scenarios.guard.attacks import MATRIX, Attack, verdict_on
from tests.scenarios.guarding import LINES as GUARDED_LINES
from tests.scenarios.guarding import Line, Verdict
from tests.support.losses import FORMS, LOSSES

DOCS = Path(__file__).parents[2] / "docs"

NO_REFUSALS = (Verdict.ITS_OWN,)
"""What comes of an attack that has nothing to attack."""


def diagram_of_moves() -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {BEGINNING.name}"]
    for state in TaskState:
        targets = [target for target in TaskState if target in MOVES[state]]
        lines += [f"    {state.name} --> {target.name}" for target in targets]
        if not targets:
            lines.append(f"    {state.name} --> [*]")
    return "\n".join([*lines, "```"])


def table_of_settings() -> str:
    members = msgspec.json.schema(Settings)["$defs"]["Settings"]["properties"]
    meanings = meanings_of_settings()
    # The type cannot say it: profiles are registered.
    members["profiles"]["items"] = {"enum": list(profile_names())}
    return "\n\n".join(
        section(
            group,
            "| setting | value | default | meaning |",
            [
                f"| `{each.name}` | {kind_of(members[each.name])} | {shown(each.default)} "
                f"| {meanings[each.name]} |"
                for each in fields
            ],
        )
        for group, fields in groupby(setting_fields().values(), lambda each: each.group)
    )


def meanings_of_settings() -> dict[str, str]:
    # A reference to our notes on the specification means nothing to a reader of the page.
    return {
        name: re.sub(r" \(Q-\d+\)", "", field.doc).replace("``", "`")
        for name, field in setting_fields().items()
    }


def kind_of(member: dict[str, Any]) -> str:
    if "anyOf" in member:
        return kind_of(member["anyOf"][0])
    if "enum" in member:
        return " or ".join(f"`{each}`" for each in member["enum"])
    if member["type"] == "array" and "enum" in member["items"]:
        return f"list of {kind_of(member['items'])}"
    if member["type"] == "array" and member["items"]["type"] == "integer":
        return "list of whole numbers"
    words = {
        "string": "text",
        "boolean": "`true` or `false`",
        "integer": "whole number",
        "number": "number",
        "array": "list of texts",
        "object": "table",
    }
    kind = words[member["type"]]
    if "minimum" in member:
        kind += f", at least {member['minimum']}"
    if "maximum" in member:
        kind += f", at most {member['maximum']}"
    if "exclusiveMinimum" in member:
        kind += f", above {member['exclusiveMinimum']}"
    return kind


def shown(default: object) -> str:
    return "none" if default is None else f"`{json.dumps(default)}`"


def table_of_options() -> str:
    """Read the options out of the help text, printed wide enough that each has one line."""
    output = subprocess.run(
        [sys.executable, "-m", "dragoman", "serve", "--help"],
        env={**os.environ, "COLUMNS": "1000", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    parts: list[str] = []
    for title, listed in re.findall(r"^(\S.*):\n((?:  .*\n)+)", output, re.MULTILINE):
        options = re.findall(r"^  (-.*?)\s{2,}(\S.*)$", listed, re.MULTILINE)
        rows = [f"| `{option}` | {meaning} |" for option, meaning in options]
        if title == "options":
            parts.append(table("| option | meaning |", rows))
        elif rows:
            parts.append(section(title, "| option | meaning |", rows))
    return "\n\n".join(parts)


def table_of_errors() -> str:
    rows = [
        f"| `{spelling.reason}` | {spelling.jsonrpc} | {spelling.http} | `{spelling.grpc}` "
        f"| `{kind.__name__}` | {first_line_of(kind)} |"
        for kind, spelling in SPELLINGS.items()
    ]
    return table("| reason | JSON-RPC | HTTP | status | in Python | meaning |", rows)


def first_line_of(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def table_of_routes() -> str:
    places: dict[Operation, list[str]] = {operation: [] for operation in Operation}
    for path, operations in ROUTES.items():
        for verb, operation in operations.items():
            places[operation].append(f"`{verb} {path}`")
    rows = [
        f"| `{operation.value}` | {' or '.join(routes)} |" for operation, routes in places.items()
    ]
    return table("| JSON-RPC method | HTTP+JSON route |", rows)


def table_of_losses() -> str:
    arrows = {"down": "↓", "up": "↑", "both": "↕"}
    rows = [
        f"| `{loss.name}` | "
        + " | ".join(arrows[loss.direction] if form in loss.forms else "" for form in FORMS)
        + f" | {loss.what} |"
        for loss in LOSSES
    ]
    forms = " | ".join(FORMS)
    return table(f"| loss | {forms} | what is lost, and what stands in its place |", rows)


def table_of_rules() -> str:
    return table("| rule | |", [f"| `{rule}` | {text} |" for rule, text in RULES.items()])


def table_of_servers() -> str:
    rows: list[str] = []
    for peer, implementation in IMPLEMENTATIONS.items():
        lines = [line for line in LINES if line.peer == peer]
        bindings = ", ".join(line.binding for line in lines)
        rows.append(f"| `{implementation}` | {lines[0].version} | {bindings} |")
    return table("| made with | version | over |", rows)


def table_of_peculiarities() -> str:
    kinds = [getattr(peculiarities, name) for name in peculiarities.__all__]
    found = [kind for kind in kinds if isinstance(kind, Peculiarity)]
    return table("| server | what it does |", [row_of(each) for each in found])


def row_of(peculiarity: Peculiarity) -> str:
    bindings: dict[str, list[str]] = {}
    for line in peculiarity.lines:
        bindings.setdefault(f"`{IMPLEMENTATIONS[line.peer]}`", []).append(line.binding)
    servers = "; ".join(f"{made_with}, {', '.join(over)}" for made_with, over in bindings.items())
    return f"| {servers} | {peculiarity.reason} |"


def table_of_attacks() -> str:
    """Count what ``tests/scenarios/guard/test_attacks.py`` makes, attack by attack."""
    rows: list[str] = []
    for attack in Attack:
        schemes = ", ".join(scheme.value for scheme in attack.schemes)
        counts = " | ".join(refused_of(attack, line) for line in GUARDED_LINES)
        rows.append(f"| {attack.value} | {schemes} | {counts} |")
    lines = " | ".join(line.title for line in GUARDED_LINES)
    return table(f"| attack | tried with | {lines} |", rows)


def refused_of(attack: Attack, line: Line) -> str:
    """Tell on how many operations an attack is refused, with all schemes that it is tried with."""
    made = [cell for cell in MATRIX if (cell.attack, cell.line) == (attack, line)]
    served = {cell.operation for cell in made if cell.verdict in NO_REFUSALS}
    operations = {cell.operation for cell in made}
    return f"{len(operations - served)} of {len(operations)}"


def table_of_verdicts() -> str:
    """Show what attacks come to there, operation by operation."""
    # What nobody knows the caller of is refused in one way, whatever is wrong with it.
    named = [attack for attack in Attack if not attack.is_at_the_door]
    rows = [
        f"| `{operation}` | "
        + " | ".join(
            verdict_on(operation, attack).value for attack in (Attack.NO_CREDENTIALS, *named)
        )
        + f" | {', '.join(lines_with(operation))} |"
        for operation in OPERATIONS
    ]
    attacks = " | ".join(["credentials missing or not good", *(each.value for each in named)])
    return table(f"| operation | {attacks} | shown in |", rows)


def lines_with(operation: str) -> list[str]:
    found: dict[str, dict[str, None]] = {}
    for line in GUARDED_LINES:
        if operation in line.operations:
            found.setdefault(line.version, {})[line.binding] = None
    return [f"{version} ({', '.join(bindings)})" for version, bindings in found.items()]


def table_of_answers() -> str:
    """Show by which number each version and binding tells a verdict."""
    verdicts = [verdict for verdict in Verdict if verdict is not Verdict.ITS_OWN]
    rows = {
        f"| {line.version} | {line.binding} | "
        + " | ".join(str(line.code(verdict, "SendMessage")) for verdict in verdicts)
        + " |": None
        for line in GUARDED_LINES
    }
    names = " | ".join(verdict.value for verdict in verdicts)
    return table(f"| version | binding | {names} |", list(rows))


def table_of_url_rules() -> str:
    rows: list[str] = []
    for rule, each in URL_RULES.items():
        # As they stand in a program: the point of some is that they look like others.
        example = shorten(ascii(each.examples[0])[1:-1])
        rows.append(f"| `{rule}` | {each.refuses} | `{example}` | {each.why} |")
    return table("| rule | refused if | such as | because |", rows)


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}…"


def table_of_networks() -> str:
    rows = [f"| `{each.network}` | {each.kind} | {each.what} |" for each in REFUSED]
    return table("| addresses | kind | what they are |", rows)


def table_of_capacity() -> str:
    load, site = capacity.Load(), capacity.Site()
    return capacity.table(capacity.plan(load, site, capacity.read_units()))


def section(title: str, head: str, rows: list[str]) -> str:
    return f"### {title}\n\n{table(head, rows)}"


def table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


@pytest.mark.parametrize(
    ("page", "name", "generate"),
    [
        ("explanation/lifecycle.md", "moves", diagram_of_moves),
        ("explanation/security.md", "attacks", table_of_attacks),
        ("explanation/security.md", "verdicts", table_of_verdicts),
        ("explanation/security.md", "answers", table_of_answers),
        ("explanation/versions.md", "losses", table_of_losses),
        ("explanation/versions.md", "servers", table_of_servers),
        ("explanation/versions.md", "peculiarities", table_of_peculiarities),
        ("explanation/egress.md", "url-rules", table_of_url_rules),
        ("explanation/egress.md", "networks", table_of_networks),
        ("reference/settings.md", "settings", table_of_settings),
        ("reference/cli.md", "options", table_of_options),
        ("reference/errors.md", "errors", table_of_errors),
        ("reference/http.md", "routes", table_of_routes),
        ("howto/look-after-the-store.md", "rules", table_of_rules),
        ("scaling.md", "units", capacity.table_of_units),
        ("scaling.md", "capacity", table_of_capacity),
    ],
)
def test_the_page_says_what_the_code_says(
    page: str, name: str, generate: Callable[[], str]
) -> None:
    path = DOCS / page
    text = path.read_text()
    before, start, rest = text.partition(f"<!-- {name}:start -->\n")
    found, end, after = rest.partition(f"<!-- {name}:end -->")
    assert start, f"{page} has no start of {name}"
    assert end, f"{page} has no end of {name}"
    wanted = f"\n{generate()}\n\n"
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(f"{before}{start}{wanted}{end}{after}")
    else:
        assert found == wanted


def test_every_setting_is_explained() -> None:
    fields = (*setting_fields().values(), *setting_fields(ProcessSettings).values())
    assert [field.name for field in fields if not field.doc] == []
