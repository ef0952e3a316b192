"""The JSON-RPC method names of 1.0 (reference section 3.2). They are case-sensitive."""

from __future__ import annotations

from typing import Final

from dragoman.model.operations import Operation

__all__ = ("METHODS",)

# R-9.1-3: method names are the PascalCase rpc names.
METHODS: Final = {operation.value: operation for operation in Operation}
