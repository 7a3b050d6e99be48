"""The repository as a whole: it stands alone, and it is what it says it is."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

import minigraph

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "minigraph"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Written so that this file does not mention them either.
OF_ONE_MACHINE = re.compile(r"(?<![\w.])/(?:work|tmp|home|root|Users)/\w|\.\./shar" + "ed")


def module_name(path: Path) -> str:
    parts = [*path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def kept_files() -> Iterator[Path]:
    """What git tracks, or would track: everything that is not ignored. Without git, no test."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("this is not a git checkout")
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            yield ROOT / name


def test_nothing_mentions_a_path_of_one_machine() -> None:
    """A checkout anywhere else would not have it."""
    mentions = []
    for path in kept_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # no text
        mentions.extend(
            f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
            for number, line in enumerate(text.splitlines(), 1)
            if OF_ONE_MACHINE.search(line)
        )

    assert mentions == []


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_the_package_does_not_use_the_reference(path: Path) -> None:
    """It is the oracle of tests/reference. No import of it, not even inside a function."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")

    roots = {name.partition(".")[0] for name in imported}
    assert not {root for root in roots if root.startswith(("langgraph", "langchain", "langsmith"))}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_every_module_opens_with_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_public_names_are_there_and_say_what_they_are(path: Path) -> None:
    """Every name in an `__all__` resolves, and is described.

    A class or function by its docstring. A constant or an alias cannot have one; it is described
    where it is assigned, by a text below or by a comment, which may be about a group of them.
    """
    module = import_module(module_name(path))

    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if isinstance(value, type) or inspect.isroutine(value):
            assert value.__doc__, f"{module.__name__}.{name} has no docstring"
        else:
            assert any(map(says_what_it_is, assignments_to(name))), (
                f"nothing says what {module.__name__}.{name} is"
            )


class Assignment(NamedTuple):
    """A module-level assignment to a name, with the source and the body that it stands in."""

    source: list[str]
    body: list[ast.stmt]
    index: int


def assignments_to(name: str) -> Iterator[Assignment]:
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        body = ast.parse(source).body
        for index, node in enumerate(body):
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign):
                targets = [node.target]
            else:
                continue
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield Assignment(source.splitlines(), body, index)


def says_what_it_is(assignment: Assignment) -> bool:
    source, body, index = assignment
    following = body[index + 1 : index + 2]
    if any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in following
    ):
        return True
    if "#" in source[body[index].lineno - 1]:
        return True
    above = takewhile(str.strip, reversed(source[: body[index].lineno - 1]))
    return any(line.startswith("#") for line in above)


def test_the_version_is_one() -> None:
    """In the package, in pyproject.toml, and in the changelog."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert project["version"] == minigraph.__version__
    assert re.search(rf"^## \[?{re.escape(minigraph.__version__)}\b", changes, re.MULTILINE)


def test_ci_runs_the_command_of_the_readme() -> None:
    """`.ci/run` takes it from between the markers; so there must be exactly one of each."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = ROOT / ".ci" / "run"

    for marker in ("tour", "test"):
        blocks = re.findall(rf"^<!-- {marker} -->\n```sh\n(.+)\n```$", readme, re.MULTILINE)
        assert len(blocks) == 1
        assert blocks[0].startswith("python3 -m venv .venv && ")
    assert "pytest" not in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o100
