"""Reads the bodies of notifications with the types of the SDK whose environment it is run in.

Reads a JSON list of bodies from standard input, and writes each as the SDK has it. None of the SDKs
has a receiver of its own; this is what their documentation has users do with a body. What an SDK
does not know ends the program.
"""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import json
import sys
from typing import Any

import a2a.types


def read(body: str) -> dict[str, Any]:
    if hasattr(a2a.types.Task, "model_validate_json"):
        return a2a.types.Task.model_validate_json(body).model_dump(mode="json", exclude_none=True)
    from a2a.types.a2a_pb2 import StreamResponse  # noqa: PLC0415 - only 1.0 has it
    from google.protobuf.json_format import MessageToDict, Parse  # noqa: PLC0415 - see above

    return MessageToDict(Parse(body, StreamResponse()))


json.dump([read(body) for body in json.load(sys.stdin)], sys.stdout)
