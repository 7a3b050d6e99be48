"""The package reads from top to bottom, in the order of docs/reading-order.md."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "minigraph"

ORDER: list[str] = re.findall(
    r"^\d+\. (?:\*\*)?`(minigraph[\w.]*)`",
    (ROOT / "docs" / "reading-order.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def module_name(path: Path) -> str:
    parts = [*path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def statements(node: ast.AST, *, in_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements at module level, or those inside of functions.

    Imports for the type checker alone do not count: they do not happen.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            if not in_functions:
                yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            otherwise = ast.Module(child.orelse, type_ignores=[])
            yield from statements(otherwise, in_functions=in_functions)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            if in_functions:
                yield from statements(child, in_functions=False)
                yield from statements(child, in_functions=True)
        else:
            yield from statements(child, in_functions=in_functions)


def modules_named(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that an import reads: ``from a import b`` reads a.b if that is a module."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    assert statement.level == 0, "imports are absolute here"
    for alias in statement.names:
        inner = f"{statement.module}.{alias.name}"
        yield inner if inner in FILES else statement.module or ""


@cache
def imports(module: str) -> frozenset[str]:
    """What a module imports from this package when it is imported itself."""
    found = statements(parsed(module), in_functions=False)
    return frozenset(name for each in found for name in modules_named(each) if name in FILES)


@cache
def before(module: str) -> frozenset[str]:
    """All that must be read before a module makes sense."""
    seen: set[str] = set()
    waiting = [*imports(module)]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(imports(name))
    return frozenset(seen - {module})


def lines_of_code(module: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    documentation: set[int] = set()
    for node in ast.walk(parsed(module)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node) is not None
        ):
            text = node.body[0]
            documentation.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    nothing = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    code: set[int] = set()
    text_of_file = FILES[module].read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text_of_file).readline):
        if token.type not in nothing:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documentation)


def lines_before(module: str) -> int:
    return sum(lines_of_code(name) for name in before(module))


def test_the_list_has_every_module_once() -> None:
    assert sorted(ORDER) == sorted(FILES)


@pytest.mark.parametrize("module", ORDER)
def test_imports_point_up_the_list(module: str) -> None:
    """So there is no circle either."""
    above = ORDER[: ORDER.index(module)]

    assert [name for name in sorted(imports(module)) if name not in above] == []


@pytest.mark.parametrize("module", ORDER)
def test_no_import_hides_in_a_function(module: str) -> None:
    """A hidden import is a hidden circle. Optional packages are not ours, and may be guarded."""
    found = statements(parsed(module), in_functions=True)
    ours = {name for each in found for name in modules_named(each)}

    assert not {name for name in ours if name.partition(".")[0] == PACKAGE}


@pytest.mark.parametrize(
    ("module", "limit"),
    [
        ("minigraph.channels.last_value", 200),
        ("minigraph.pregel.update", 1000),
        ("minigraph.graph.state", 1100),
        # The machine stands behind a door of the builder's, so it has a limit of its own: all that
        # a run needs, down to the bytes in the store.
        ("minigraph.graph.compile", 9000),
    ],
)
def test_how_much_must_be_read_before(module: str, limit: int) -> None:
    """The reader's cost, in lines of code."""
    assert 0 < lines_before(module) < limit


# The world: threads, event loops, clocks, logs.
WORLD = {"threading", "_thread", "asyncio", "concurrent", "multiprocessing", "queue", "socket"}
WORLD |= {"time", "datetime", "logging", "sched", "signal", "subprocess"}
TOUCH_THE_WORLD = {"attempts", "runner", "durability", "drive", "main"}
TOUCH_THE_WORLD = {f"minigraph.pregel.{name}" for name in TOUCH_THE_WORLD}


@pytest.mark.parametrize(
    "module",
    [name for name in ORDER if name.startswith("minigraph.pregel") and name not in TOUCH_THE_WORLD],
)
def test_the_machine_does_not_touch_the_world(module: str) -> None:
    """The first law: the program decides, a driver acts."""
    found = [
        *statements(parsed(module), in_functions=False),
        *statements(parsed(module), in_functions=True),
    ]
    roots = {name.partition(".")[0] for each in found for name in modules_named(each)}

    assert roots & WORLD == set()


def test_hidden_and_module_level_imports_are_told_apart() -> None:
    """The reader of imports that the tests above rely on."""
    source = """
import a
if TYPE_CHECKING:
    import b
else:
    import c
def f():
    import d
    if True:
        from e import x
    def g():
        import h
class K:
    import i
    def m(self):
        import j
try:
    import k
except ImportError:
    pass
"""

    def names(*, in_functions: bool) -> list[str]:
        found = statements(ast.parse(source), in_functions=in_functions)
        return sorted({name for each in found for name in modules_named(each)})

    assert names(in_functions=False) == ["a", "c", "i", "k"]
    assert names(in_functions=True) == ["d", "e", "h", "j"]
