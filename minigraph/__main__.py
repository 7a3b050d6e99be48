"""The command line: ``minigraph tour``, or ``python -m minigraph tour``.

Only arguments are read here; what the commands do is in rooms of their own.

    exit code 0   fine, also when the reader of a pipe has had enough
    exit code 2   called in a way that has no meaning
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from minigraph import __version__
from minigraph.tour.story import tour


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Args:
        argv: the arguments, without the program's name; those of the process by default.

    Raises `SystemExit` where argparse ends the program: ``--help``, ``--version`` and mistakes.
    """
    parser = arguments()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        tour(sys.stdout, plain=options.plain)
    except BrokenPipeError:
        # As in `minigraph tour | head`. Python flushes stdout once more when it ends; let that
        # go nowhere, or it would complain about the same pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="minigraph", description="How a durable graph runtime works, in code to be read."
    )
    parser.add_argument("--version", action="version", version=f"minigraph {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    about = "run a graph of two nodes, and tell every super-step while it happens"
    one = commands.add_parser("tour", help=about, description=f"{about.capitalize()}.")
    one.add_argument("--plain", action="store_true", help="no colours")
    return parser


if __name__ == "__main__":
    sys.exit(main())
