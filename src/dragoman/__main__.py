"""python -m dragoman: the command line."""

from __future__ import annotations

from dragoman.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
