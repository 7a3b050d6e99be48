"""A sketch: boxes and arrows, made of characters.

Nodes stand in rows, and all arrows lead from one row to the next:

    row        ┌───┐      1  turn arrows that lead back, so that all lead down
               │ a │      2  give every node a row below all that lead to it
               └─┬─┘      3  put a *place* into every row that an arrow passes: for its
    gap      ╭───┴──╮        label, or only for the line
    row     yes     │     4  order the rows, so that few lines cross
    gap      ▼      │     5  move what is connected to stand one below the other
    row    ┌───┐    │     6  draw the lines of each gap, each on a track of its own
           │ b │    │
           └───┘    ▼

This is the method of Sugiyama, Tagawa and Toda (1981), in the simplest form that is pleasant
to read. Lines only share a track where every start of them leads to every end. So a picture
never shows a way that is not there; a graph that is too big for a picture becomes a list.

Nothing in here knows what a graph is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Final, NamedTuple
from unicodedata import combining, east_asian_width

MANY: Final = 40  # more boxes than that are no picture, but a wallpaper
BETWEEN: Final = 2  # columns between two neighbours


class Box(NamedTuple):
    """A node in a sketch: its name, notes to stand below, and whether it is a way in or out."""

    name: str
    notes: tuple[str, ...] = ()
    round: bool = False


class Arrow(NamedTuple):
    """From one box to another. Dashed is what may be taken; solid, what always is."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False


def sketch(
    boxes: Mapping[str, Box],
    arrows: Sequence[Arrow],
    *,
    width: int = 100,
    ascii: bool = False,
) -> str:
    """A graph as text.

    Args:
        boxes: by the ids that arrows name; those above come first.
        arrows: between boxes.
        width: a wider picture has its like boxes stacked, and if it still is, becomes a list.
        ascii: draw with characters that every screen has.

    >>> print(sketch({"a": Box("a"), "b": Box("b")}, [Arrow("a", "b")]))
    ┌───┐
    │ a │
    └─┬─┘
      ▼
    ┌───┐
    │ b │
    └───┘
    """
    text = listing(boxes, arrows)
    for groups in ([(id,) for id in boxes], alike(boxes, arrows)):
        if len(groups) <= MANY and len(arrows) <= 2 * MANY:
            try:
                picture = painted(boxes, groups, arrows)
            except Tangled:
                continue
            if max(map(columns, picture.splitlines()), default=0) <= width:
                text = picture
                break
    return text.translate(TO_ASCII) if ascii else text


def listing(boxes: Mapping[str, Box], arrows: Iterable[Arrow]) -> str:
    """One line for each box: where its arrows lead.

    >>> print(listing({"a": Box("a"), "b": Box("b")}, [Arrow("a", "b", "yes", True)]))
    a ┄▶ b (yes)
    b
    """
    found: dict[str, dict[bool, list[str]]] = {id: {} for id in boxes}
    for arrow in arrows:
        label = f" ({arrow.label})" if arrow.label else ""
        ends = found[arrow.source].setdefault(arrow.dashed, [])
        ends.append(f"{shown(boxes[arrow.target].name)}{label}")
    lines = []
    for id, box in boxes.items():
        name = shown(box.name) + "".join(f" [{note}]" for note in box.notes)
        for dashed, ends in sorted(found[id].items()):
            lines.append(f"{name} {'┄▶' if dashed else '─▶'} {', '.join(ends)}")
        if not found[id]:
            lines.append(name)
    return "\n".join(lines)


def alike(boxes: Mapping[str, Box], arrows: Iterable[Arrow]) -> list[tuple[str, ...]]:
    """Boxes that differ in nothing but their name, together."""
    around: dict[str, set[tuple[object, ...]]] = {id: set() for id in boxes}
    for source, target, label, dashed in arrows:
        around[source].add(("to", target, label, dashed))
        around[target].add(("from", source, label, dashed))
    groups: dict[object, list[str]] = {}
    for id, box in boxes.items():
        groups.setdefault((box.notes, box.round, frozenset(around[id])), []).append(id)
    return [tuple(group) for group in groups.values()]


# ---------------------------------------------------------------- text and characters


def shown(name: str) -> str:
    """A name on one line.

    >>> shown("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def columns(text: str) -> int:
    """How wide a text is on a screen.

    >>> columns("abc"), columns("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


RULE: Final = "\n"  # between the names in a box; no shown name contains it
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES: Final = "  ││ ╯╮┤ ╰╭├─┴┬┼"  # by the sides that a line leaves its cell at
DASHED: Final = str.maketrans("─│", "┄┊")
TO_ASCII: Final = str.maketrans(
    "─│┄┊┌┐└┘╭╮╰╯├┤┬┴┼▼▲▶↺", "-|.:+++++++++++++v^>@"
)  # one for one, so that columns stay in line


# ---------------------------------------------------------------- places and bundles


NEVER: Final = 10**6


class Tangled(Exception):
    """Two lines would have to share a column: no picture that can be trusted."""


class Place:
    """What takes room in a row: a box, an arrow's label, or just a line that passes.

    Attributes:
        lines: the text in it; none where a line passes.
        framed: whether it is a box.
        middle: its column.
        above, below: the bundles that end at it, from left to right.
    """

    def __init__(self, lines: Sequence[str], *, framed: bool = False, round: bool = False) -> None:
        self.lines = lines
        self.framed = framed
        self.round = round
        self.middle = 0
        self.above: list[Bundle] = []
        self.below: list[Bundle] = []

    @property
    def width(self) -> int:
        ports = 4 * max(len(self.above), len(self.below)) - 3
        text = max(map(columns, self.lines), default=1)
        # An odd number of columns has one in the middle, for a line to start from.
        return max(text + 4, ports + 4) | 1 if self.framed else max(text, ports)

    @property
    def left(self) -> int:
        return self.middle - self.width // 2

    @property
    def height(self) -> int:
        return len(self.lines) + 2 if self.framed else 1

    def shift(self, bundles: list[Bundle], bundle: Bundle) -> int:
        """How far from the middle a bundle ends: side by side, if there are several."""
        return 4 * bundles.index(bundle) - 2 * (len(bundles) - 1)

    def port(self, bundle: Bundle) -> int:
        """The column at which a bundle ends here."""
        if bundle in self.below:
            return bundle.starts[bundle.upper.index(self)]
        return bundle.ends[bundle.lower.index(self)]

    def may_end(self, bundles: list[Bundle], bundle: Bundle, column: int) -> bool:
        """Whether a bundle could end there: at a box's edge, not too near to the others."""
        if not self.framed:  # a label's line may start below any of its letters but the outer
            near = (self.width - 1) // 2 - 1 if self.lines else 0
            return abs(column - self.port(bundle)) <= max(near, 0)
        at = bundles.index(bundle)
        first = self.left + 1 if at == 0 else self.port(bundles[at - 1]) + 2
        last = self.left + self.width - 2
        if at + 1 < len(bundles):
            last = self.port(bundles[at + 1]) - 2
        return first <= column <= last


class Bundle:
    """Lines between two rows that may share a track: each start of them leads to each end."""

    def __init__(self, upper: list[Place], lower: list[Place], dashed: bool, up: bool) -> None:
        self.upper = upper
        self.lower = lower
        self.dashed = dashed
        self.up = up  # whether it leads upwards
        self.track = 0
        self.starts: list[int] = []  # the columns of its upper ends
        self.ends: list[int] = []  # and of its lower ones

    def attach(self) -> None:
        """Take the columns of its ends from where its places stand."""
        self.starts = [place.middle + place.shift(place.below, self) for place in self.upper]
        self.ends = [place.middle + place.shift(place.above, self) for place in self.lower]

    @property
    def span(self) -> tuple[int, int]:
        both = self.starts + self.ends
        return min(both), max(both)

    @property
    def straight(self) -> bool:
        return self.span[0] == self.span[1]

    def straighten(self) -> None:
        """Move an end at a box a little, if that spares the line a bend."""
        (upper, *more), (lower, *others) = self.upper, self.lower
        if not more and not others:
            for column in (*self.starts, *self.ends, sum(self.starts + self.ends) // 2):
                if upper.may_end(upper.below, self, column) and lower.may_end(
                    lower.above, self, column
                ):
                    self.starts, self.ends = [column], [column]
                    return
        elif not more:
            self.starts = [self.nearest(self.starts[0], self.ends, upper, upper.below)]
        elif not others:
            self.ends = [self.nearest(self.ends[0], self.starts, lower, lower.above)]

    def nearest(
        self, column: int, columns: Iterable[int], place: Place, bundles: list[Bundle]
    ) -> int:
        """The one of these columns that is just beside, or the column itself."""
        for near in columns:
            if abs(near - column) <= 2 and place.may_end(bundles, self, near):
                return near
        return column

    def crossings_above(self, other: Bundle) -> int:
        """How many lines cross if this one's track is above the other's.

        It may be `NEVER`: this one's ends would run along the other's starts.
        """
        if set(self.ends) & set(other.starts):
            return NEVER
        (left, right), (first, last) = self.span, other.span
        down = sum(first <= column <= last for column in self.ends)
        return down + sum(left <= column <= right for column in other.starts)


class Link(NamedTuple):
    """One arrow's way from a row to the next."""

    upper: Place
    lower: Place
    dashed: bool
    up: bool


def painted(
    boxes: Mapping[str, Box], groups: Sequence[tuple[str, ...]], arrows: Iterable[Arrow]
) -> str:
    """The picture. Boxes of one group are stacked. Raises `Tangled`."""
    owner = {id: group[0] for group in groups for id in group}
    merged = dict.fromkeys(
        arrow._replace(source=owner[arrow.source], target=owner[arrow.target]) for arrow in arrows
    )
    loops = {arrow: arrow.label for arrow in merged if arrow.source == arrow.target}
    places = {}
    for group in groups:
        notes = [*boxes[group[0]].notes]
        notes += [f"↺ {label}".rstrip() for arrow, label in loops.items() if arrow.source in group]
        names = [part for id in group for part in (RULE, shown(boxes[id].name))][1:]
        places[group[0]] = Place([*names, *notes], framed=True, round=boxes[group[0]].round)
    rows, gaps = arranged(places, [arrow for arrow in merged if arrow not in loops])
    sort_rows(rows, gaps)
    bundles = [bundled(gap) for gap in gaps]
    align(rows, bundles)
    for bundle in (bundle for gap in bundles for bundle in gap):
        bundle.attach()
    for bundle in (bundle for gap in bundles for bundle in gap):
        bundle.straighten()
    for gap in bundles:
        untangle(gap)
    canvas = Canvas()
    top = 0
    for index, row in enumerate(rows):
        height = max(place.height for place in row)
        for place in row:
            canvas.place(place, top, height)
        top += height
        if index < len(bundles):
            top = canvas.gap(bundles[index], top)
    return canvas.text()


# ---------------------------------------------------------------- rows


def arranged(
    places: dict[str, Place], arrows: Sequence[Arrow]
) -> tuple[list[list[Place]], list[list[Link]]]:
    """Rows of places, and the links of each gap between two of them."""
    back = leading_back(places, arrows)
    down = [(a.target, a.source) if a in back else (a.source, a.target) for a in arrows]
    level = levels(places, down)

    # Boxes take the even rows, labels the odd ones; those without a label are left out.
    slots: list[list[Place]] = [[] for _ in range(2 * max(level.values(), default=0) + 1)]
    for id, place in places.items():
        slots[2 * level[id]].append(place)
    labelled = {2 * level[up] + 1 for a, (up, _) in zip(arrows, down, strict=True) if a.label}
    links: list[list[Link]] = [[] for _ in slots]
    shared: dict[tuple[object, ...], Place] = {}
    for arrow, (upper, lower) in zip(arrows, down, strict=True):
        first, last = 2 * level[upper], 2 * level[lower]
        here, start = places[upper], first
        for slot in range(first + 1, last + 1):
            if slot % 2 and slot not in labelled:
                continue
            if slot == last:
                there = places[lower]
            elif slot == first + 1 and arrow.label:
                there = Place([shown(arrow.label)])
                slots[slot].append(there)
            else:
                # Lines that started in the same row go on together, if they mean the same.
                outer = arrow.source if arrow in back else arrow.target
                label = (arrow.source, arrow.label) if arrow.label else None
                key = (slot, first, outer, arrow in back, arrow.dashed, label)
                if key not in shared:
                    shared[key] = Place([])
                    slots[slot].append(shared[key])
                there = shared[key]
            link = Link(here, there, arrow.dashed, arrow in back)
            if link not in links[start]:
                links[start].append(link)
            here, start = there, slot
    used = [index for index, slot in enumerate(slots) if slot]
    return [slots[index] for index in used], [links[index] for index in used[:-1]]


def leading_back(places: Mapping[str, Place], arrows: Iterable[Arrow]) -> set[Arrow]:
    """The arrows that close a circle, when one walks along them from the first box on."""
    position = {id: index for index, id in enumerate(places)}
    out: dict[str, list[Arrow]] = {id: [] for id in places}
    for arrow in sorted(arrows, key=lambda arrow: position[arrow.target]):
        out[arrow.source].append(arrow)
    back: set[Arrow] = set()
    walked: set[str] = set()
    for first in places:
        if first in walked:
            continue
        walked.add(first)
        path = {first: iter(out[first])}
        while path:
            here = next(reversed(path))
            onward = next(path[here], None)
            if onward is None:
                del path[here]
            elif onward.target in path:
                back.add(onward)
            elif onward.target not in walked:
                walked.add(onward.target)
                path[onward.target] = iter(out[onward.target])
    return back


def levels(places: Iterable[str], down: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How far down each box must be to be below all that lead to it."""
    after: dict[str, set[str]] = {id: set() for id in places}
    before: dict[str, set[str]] = {id: set() for id in places}
    for upper, lower in down:
        after[upper].add(lower)
        before[lower].add(upper)
    level: dict[str, int] = {}
    waiting = [id for id in after if not before[id]]
    counts = {id: len(found) for id, found in before.items()}
    for id in waiting:
        level[id] = max((level[each] + 1 for each in before[id]), default=0)
        for each in after[id]:
            counts[each] -= 1
            if not counts[each]:
                waiting.append(each)
    first = next(iter(after), None)
    for id in after:  # what nothing leads to need not be at the top
        if id != first and not before[id] and after[id]:
            level[id] = max(level[id], min(level[each] for each in after[id]) - 1)
    return level


def sort_rows(rows: list[list[Place]], gaps: list[list[Link]]) -> None:
    """Put into each row first what is connected to the first of its neighbours."""
    best = [list(row) for row in rows]
    fewest = crossings(rows, gaps)
    for sweep in range(8):
        if sweep % 2:
            turns = [(rows[i], gaps[i], True) for i in reversed(range(len(gaps)))]
        else:
            turns = [(rows[i + 1], gaps[i], False) for i in range(len(gaps))]
        index = numbered(rows)
        for row, gap, looking_down in turns:
            near: dict[Place, list[int]] = {place: [] for place in row}
            for link in gap:
                mine, other = (link.upper, link.lower) if looking_down else (link.lower, link.upper)
                near[mine].append(index[other])
            means = {
                place: sum(found) / len(found) if found else float(index[place])
                for place, found in near.items()
            }
            row.sort(key=means.__getitem__)
            index |= numbered([row])
        count = crossings(rows, gaps)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best


def numbered(rows: Iterable[Iterable[Place]]) -> dict[Place, int]:
    return {place: index for row in rows for index, place in enumerate(row)}


def crossings(rows: list[list[Place]], gaps: list[list[Link]]) -> int:
    index = numbered(rows)
    count = 0
    for gap in gaps:
        ends = [(index[link.upper], index[link.lower]) for link in gap]
        count += sum((a - c) * (b - d) < 0 for a, b in ends for c, d in ends)
    return count // 2


def bundled(gap: Iterable[Link]) -> list[Bundle]:
    """The links of a gap, together where each start leads to each end."""
    reached: dict[tuple[Place, bool, bool], list[Place]] = {}
    for link in gap:
        reached.setdefault((link.upper, link.dashed, link.up), []).append(link.lower)
    found: dict[tuple[frozenset[Place], bool, bool], list[Place]] = {}
    for (upper, dashed, up), lower in reached.items():
        found.setdefault((frozenset(lower), dashed, up), []).append(upper)
    return [
        Bundle(uppers, list(lowers), dashed, up) for (lowers, dashed, up), uppers in found.items()
    ]


# ---------------------------------------------------------------- columns


def align(rows: list[list[Place]], bundles: list[list[Bundle]]) -> None:
    """Give every place its column: near to what it is connected to."""
    index = numbered(rows)

    def order(bundle: Bundle, others: list[Place]) -> tuple[float, bool, bool]:
        return sum(index[place] for place in others) / len(others), bundle.up, bundle.dashed

    for gap in bundles:
        for bundle in gap:
            for place in bundle.upper:
                place.below.append(bundle)
            for place in bundle.lower:
                place.above.append(bundle)
    for row in rows:
        for place in row:
            place.below.sort(key=lambda bundle: order(bundle, bundle.lower))
            place.above.sort(key=lambda bundle: order(bundle, bundle.upper))
        put(row, [0.0] * len(row), [1.0] * len(row))
    passes = (["above"], ["below"]) * 6 + (["above", "below"],) * 4
    for sides in passes:
        for row in rows if sides != ["below"] else reversed(rows):
            wishes, weights = zip(*(wish(place, sides) for place in row), strict=True)
            put(row, wishes, weights)
    leftmost = min((place.left for row in rows for place in row), default=0)
    for row in rows:
        for place in row:
            place.middle -= leftmost


def wish(place: Place, sides: Sequence[str]) -> tuple[float, float]:
    """Where a place would like to be, and how much."""
    total = weight = 0.0
    for side in sides:
        bundles = place.above if side == "above" else place.below
        for bundle in bundles:
            bundle.attach()
            others = bundle.upper if side == "above" else bundle.lower
            ends = bundle.starts if side == "above" else bundle.ends
            for column in ends:
                # What is between just two is better straight than near.
                pull = 8.0 if len(others) == 1 and len(bundle.upper) == len(bundle.lower) else 1.0
                total += pull * (column - place.shift(bundles, bundle))
                weight += pull
    return (total / weight, weight) if weight else (float(place.middle), 0.1)


def put(row: Sequence[Place], wishes: Sequence[float], weights: Sequence[float]) -> None:
    """Each place of a row as near to where it likes to be as its neighbours allow.

    Those that would overlap move together, to where they all suffer least: the least squares
    solution under these constraints, found by pooling adjacent violators.
    """
    offset = 0
    offsets: list[int] = []
    for index, place in enumerate(row):
        if index:
            before = row[index - 1]
            offset += before.width - before.width // 2 + BETWEEN + place.width // 2
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # where, weight, how many
    for like, weight, offset in zip(wishes, weights, offsets, strict=True):
        where, count = like - offset, 1
        while pools and pools[-1][0] > where:
            other, heavy, many = pools.pop()
            where = (where * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((where, weight, count))
    columns_of = [round(where) for where, _, count in pools for _ in range(count)]
    for place, column, offset in zip(row, columns_of, offsets, strict=True):
        place.middle = column + offset


def untangle(gap: Iterable[Bundle]) -> None:
    """Where each of two bundles would have to be above the other, move a start of one a little."""
    for one, other in permutations((bundle for bundle in gap if not bundle.straight), 2):
        for index, place in enumerate(one.upper):
            column = one.starts[index]
            for near in (column, column + 1, column - 1, column + 2, column - 2):
                if place.may_end(place.below, one, near):
                    one.starts[index] = near
                    if min(one.crossings_above(other), other.crossings_above(one)) < NEVER:
                        break
                    one.starts[index] = column


# ---------------------------------------------------------------- painting


def tracks(bundles: list[Bundle]) -> int:
    """Give each bundle that bends a track of its own where it needs one; returns how many.

    Raises `Tangled` where each of two bundles would have to be above the other.
    """
    order: list[Bundle] = []
    for bundle in (each for each in bundles if not each.straight):
        costs = [
            sum(other.crossings_above(bundle) for other in order[:at])
            + sum(bundle.crossings_above(other) for other in order[at:])
            for at in range(len(order) + 1)
        ]
        order.insert(costs.index(min(costs)), bundle)
    count = 0
    for position, bundle in enumerate(order):
        left, right = bundle.span
        bundle.track = 0
        for other in order[:position]:
            if other.crossings_above(bundle) == NEVER:
                raise Tangled
            if other.span[0] - 1 <= right and left <= other.span[1] + 1:
                bundle.track = max(bundle.track, other.track + 1)
        count = max(count, bundle.track + 1)
    return count


class Canvas:
    """Cells of characters, and of lines that find their character when all are known."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}
        self.lines: dict[tuple[int, int], dict[Bundle, int]] = {}

    def write(self, row: int, column: int, text: str) -> None:
        for c in text:
            wide = columns(c)
            if not wide:  # an accent, say, belongs to what it stands on
                self.cells[row, column - 1] = self.cells.get((row, column - 1), "") + c
                continue
            self.cells[row, column] = c
            if wide == 2:
                self.cells[row, column + 1] = ""
            column += wide

    def line(self, bundle: Bundle, row: int, column: int, sides: int) -> None:
        cell = self.lines.setdefault((row, column), {})
        cell[bundle] = cell.get(bundle, 0) | sides

    def down(self, bundle: Bundle, column: int, first: int, last: int) -> None:
        """A vertical line through all of these rows."""
        for row in range(first, last):
            self.line(bundle, row, column, UP | DOWN)

    def place(self, place: Place, top: int, height: int) -> None:
        """A box, a label or a passing line, and the lines down to the end of the row."""
        if place.framed:
            self.box(place, top)
        for row, text in enumerate(place.lines, top + place.framed):
            if text == RULE:
                self.write(row, place.left, f"├{'─' * (place.width - 2)}┤")
            else:
                self.write(row, place.middle - columns(text) // 2, text)
        bottom = top + (place.height if place.lines else 0)
        for bundle in place.below:
            if place.lines:
                self.down(bundle, place.port(bundle), bottom, top + height)
        if not place.lines:
            self.passing(place, top, height)

    def box(self, place: Place, top: int) -> None:
        bottom = top + place.height - 1
        inside = place.width - 2
        corners = "╭╮╰╯" if place.round else "┌┐└┘"
        self.write(top, place.left, f"{corners[0]}{'─' * inside}{corners[1]}")
        self.write(bottom, place.left, f"{corners[2]}{'─' * inside}{corners[3]}")
        for row in range(top + 1, bottom):
            self.write(row, place.left, f"│{' ' * inside}│")
        for bundle in place.below:
            row, character = (bottom + 1, "▲") if bundle.up else (bottom, "┬")
            self.write(row, place.port(bundle), character)
        for bundle in place.above:
            if bundle.up:
                self.write(top, place.port(bundle), "┴")

    def passing(self, place: Place, top: int, height: int) -> None:
        """Lines that arrive side by side become one, and go on."""
        (below,) = place.below
        for bundle in place.above:
            column = place.port(bundle)
            self.line(below, top, column, UP)
            step = 1 if column < place.middle else -1
            for between in range(column, place.middle, step):
                self.line(below, top, between, RIGHT if step > 0 else LEFT)
                self.line(below, top, between + step, LEFT if step > 0 else RIGHT)
        self.line(below, top, place.middle, DOWN)
        self.down(below, place.middle, top + 1, top + height)

    def gap(self, bundles: list[Bundle], top: int) -> int:
        """The lines between two rows; returns the row below them."""
        count = tracks(bundles)
        for each in bundles:
            if each.dashed and each.straight and all(p.framed for p in each.upper + each.lower):
                count = max(count, 1)  # it takes a row of line to see what kind of line it is
        up = any(place.framed for bundle in bundles if bundle.up for place in bundle.upper)
        arrows = any(place.framed for bundle in bundles if not bundle.up for place in bundle.lower)
        first = top + up
        last = max(first + count + arrows, top + 1)
        for bundle in bundles:
            level = first + bundle.track
            if bundle.straight:
                self.down(bundle, bundle.span[0], top, last)
            else:
                left, right = bundle.span
                for column in range(left, right + 1):
                    sides = (LEFT if column > left else 0) | (RIGHT if column < right else 0)
                    self.line(bundle, level, column, sides)
                for column in bundle.starts:
                    self.down(bundle, column, top, level)
                    self.line(bundle, level, column, UP)
                for column in bundle.ends:
                    self.line(bundle, level, column, DOWN)
                    self.down(bundle, column, level + 1, last)
            for place, column in zip(bundle.lower, bundle.ends, strict=True):
                if place.framed and not bundle.up:
                    self.write(last - 1, column, "▼")
        return last

    def text(self) -> str:
        drawn = {cell: line_character(found) for cell, found in self.lines.items()}
        cells = {**drawn, **self.cells}
        lines = []
        for row in range(max((row for row, _ in cells), default=-1) + 1):
            found = {column: c for (r, column), c in cells.items() if r == row}
            line, column = "", 0
            for at in sorted(found):
                line += " " * (at - column) + found[at]
                column = max(column, at) + columns(found[at])
            lines.append(line.rstrip())
        return "\n".join(lines)


def line_character(found: Mapping[Bundle, int]) -> str:
    """What a cell shows: of two lines that cross, the one that goes down passes over."""
    bundle, sides = min(found.items(), key=lambda each: each[1] & (LEFT | RIGHT) != 0)
    character = LINES[sides]
    return character.translate(DASHED) if bundle.dashed else character
