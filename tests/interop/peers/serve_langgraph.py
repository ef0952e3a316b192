"""A graph served by langgraph-api, with its runtime in memory (what ``langgraph dev`` starts)."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.request
from pathlib import Path

from langgraph_api.cli import run_server
from stage import listen


def tell(url: str) -> None:
    """Say where the agent is as soon as it answers; end when standard input does."""
    graph = None
    while graph is None:
        time.sleep(0.2)
        try:
            request = urllib.request.Request(  # noqa: S310 - our own address
                f"{url}/assistants/search", b"{}", {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
                graph = next(iter(json.load(answer)), None)
        except OSError:
            continue
    told = f"{url}/.well-known/agent-card.json?assistant_id={graph['assistant_id']}"
    os.write(OUTPUT, f"{json.dumps({'url': told})}\n".encode())
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    # It logs to standard output.
    OUTPUT = os.dup(1)
    os.dup2(2, 1)
    listener, url = listen()
    listener.close()
    threading.Thread(target=tell, args=(url,), daemon=True).start()
    run_server(
        "127.0.0.1",
        int(url.rpartition(":")[2]),
        reload=False,
        open_browser=False,
        graphs={"peer": f"{Path(__file__).with_name('graph_langgraph.py')}:graph"},
    )
