"""The booking agent of the examples, in a process that dies at a given commit (``trap``)."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tests.durability.trap import lay

EXAMPLE = Path(__file__).parents[2] / "examples" / "booking" / "agent.py"

spec = spec_from_file_location("booking", EXAMPLE)
assert spec is not None
assert spec.loader is not None
booking = module_from_spec(spec)
sys.modules["booking"] = booking
spec.loader.exec_module(booking)
agent = booking.agent
lay()
