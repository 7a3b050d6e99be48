"""A page of text on somebody's terminal.

Whoever writes here thinks in paragraphs, headings and tables. This room knows what is on
the other side: how wide it is, whether it shows colours, and which characters it has.

    line(("plan", ACCENT), ("  node_a", PLAIN))
      │
      ├─ colours       on a terminal, unless somebody said no
      ├─ characters    ─▶ becomes -> where the encoding has no arrows
      └─ width         paragraphs are broken: at 60 columns or more, and at 80 at most

Styles are words and not escape codes, so that a text can be measured before it is painted.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import Final, TextIO, TypeAlias

NARROW: Final = 60
WIDE: Final = 80  # longer lines are hard to read, however wide the window is

PLAIN: Final = ""
BOLD: Final = "1"
QUIET: Final = "2"
ACCENT: Final = "36"
VALUE: Final = "32"
ID: Final = "33"

Span: TypeAlias = tuple[str, str]
"""Some text, and the style it has."""

DRAWING: Final = "─▶│├└●…·"
ASCII: Final = str.maketrans(DRAWING, "->||`*.-")  # one for one, so that columns stay in line


class Page:
    """Writes lines to a stream, in the manner that suits it.

    Args:
        stream: where to write.
        plain: no colours, whatever the stream is.

    Every method raises `BrokenPipeError` when the reader of the stream has gone.

    >>> import sys
    >>> page = Page(sys.stdout, plain=True)
    >>> page.line(("plan", ACCENT), ("  node_a ─▶ node_b", PLAIN))
    plan  node_a ─▶ node_b
    """

    def __init__(self, stream: TextIO, *, plain: bool = False) -> None:
        self.stream = stream
        self.colours = not plain and shows_colours(stream)
        self.drawing = can_draw(stream)
        self.width = max(NARROW, min(WIDE, shutil.get_terminal_size((WIDE, 24)).columns))

    def line(self, *spans: Span) -> None:
        """One line, as wide as it is."""
        text = "".join(self.painted(text, style) for text, style in spans).rstrip()
        self.stream.write(f"{text if self.drawing else text.translate(ASCII)}\n")
        self.stream.flush()  # each line is seen when it happens, through a pipe too

    def painted(self, text: str, style: str) -> str:
        if not self.colours or style == PLAIN or not text.strip():
            return text
        bare = text.rstrip()
        return f"\x1b[{style}m{bare}\x1b[0m{text[len(bare) :]}"

    def heading(self, title: str) -> None:
        """A title, with a rule to the end of the line."""
        self.line()
        self.line((title, BOLD), (f" {'─' * (self.width - len(title) - 1)}", QUIET))
        self.line()

    def paragraph(self, text: str, label: str = "", indent: int = 0) -> None:
        """Text, broken into lines, all indented alike; the label stands beside the first."""
        for line in textwrap.wrap(text, self.width - indent, break_on_hyphens=False):
            self.line((label.ljust(indent), ACCENT), (line, PLAIN))
            label = ""

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Span]]) -> None:
        """Rows in columns as wide as what stands in them."""
        lines = [[(title, QUIET) for title in header], *rows]
        widths = [max(len(text) for text, _ in column) for column in zip(*lines, strict=True)]
        for cells in lines:
            self.line(*((f"{t:<{w}}  ", style) for (t, style), w in zip(cells, widths)))


def shows_colours(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set (see no-color.org)."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not refused and stream.isatty()


def can_draw(stream: TextIO) -> bool:
    """Whether the stream's encoding has the characters that drawings are made of."""
    try:
        DRAWING.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def fitted(text: str, width: int) -> str:
    """The text in exactly `width` columns, cut if need be, with a space at its end.

    >>> fitted("abc", 5), fitted("abcdef", 5)
    ('abc  ', 'abc… ')
    """
    return f"{text if len(text) < width else text[: width - 2] + '…':<{width}}"
