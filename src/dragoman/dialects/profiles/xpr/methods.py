"""The JSON-RPC method names of the XPR network; the names are those of 0.2."""

from __future__ import annotations

from typing import Final

from dragoman.model.operations import Operation

__all__ = ("CALLS", "METHODS")

METHODS: Final = {
    "message/send": Operation.SEND_MESSAGE,
    "tasks/get": Operation.GET_TASK,
    "tasks/cancel": Operation.CANCEL_TASK,
}

CALLS: Final = {operation: method for method, operation in METHODS.items()}
