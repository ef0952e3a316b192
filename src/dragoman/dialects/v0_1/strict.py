"""What the strict reader of 0.1 refuses before it reads (0.x reference, 6.1).

Null is not among it: the schema began with every optional member nullable (2.8). Nor are names of
the proto, which came with 0.2.
"""

from __future__ import annotations

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.strict import check_parts, check_role

__all__ = ("check_request",)


def check_request(params: bytes) -> None:
    """Refuse the params of a request that only a lenient reader takes.

    Raises:
        JSONParseError, InvalidParamsError: they are such; the violation says why.
    """
    fields = Fields(read_json(params))
    fields.required_text("id")  # D8, and D14 for a send
    if (message := fields.at("message")) is not None:
        check_role(message)
        check_parts(message, "type")  # D13
