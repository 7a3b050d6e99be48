"""Many threads, many processes, and processes that die in the middle."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minigraph.checkpoint.sqlite import SqliteSaver

STORE = """
import sys
from minigraph.checkpoint.base.id import uuid6_text
from minigraph.checkpoint.sqlite import SqliteSaver

def store(saver, thread, n, parent):
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": parent}}
    checkpoint = {
        "v": 4, "id": uuid6_text(n), "ts": "", "channel_values": {"log": [n] * 20},
        "channel_versions": {"log": n}, "versions_seen": {}, "updated_channels": ["log"],
    }
    at = saver.put(config, checkpoint, {"step": n}, {"log": n})
    saver.put_writes(at, [("log", n), ("more", n)], f"task {n}")
    return at["configurable"]["checkpoint_id"]
"""
"""For processes of their own, and for this one."""

_here: dict[str, Any] = {}
exec(STORE, _here)
store = _here["store"]


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STORE + script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Their output. All must have ended well."""
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), outputs
    return outputs


def is_whole(found: Any) -> bool:
    n = found.metadata["step"]
    return found.checkpoint["channel_values"] == {"log": [n] * 20} and found.pending_writes == [
        (f"task {n}", "log", n),
        (f"task {n}", "more", n),
    ]


LOADS = [10, pytest.param(1, marks=pytest.mark.slow)]
"""By how much the numbers are divided: in full they take minutes."""


@pytest.mark.parametrize("part", LOADS)
def test_four_processes_on_one_file(tmp_path: Path, part: int) -> None:
    """SV-31: with 2,000 checkpoints each, nobody sees a locked database, and no row is lost."""
    path, count = str(tmp_path / "threads.db"), 2000 // part // (4 if part > 1 else 1)
    script = """
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with SqliteSaver.from_conn_string(path) as saver:
    parent = None
    for n in range(count):
        parent = store(saver, name if n % 2 else "shared", n, parent)
        if n % 10 == 0:
            saver.get_tuple({"configurable": {"thread_id": "shared"}})
            [*saver.list({"configurable": {"thread_id": name}}, limit=3)]
"""
    finish([start(script, path, f"process {p}", count) for p in range(4)])
    with SqliteSaver.from_conn_string(path) as saver:
        found = [*saver.list(None)]
        threads = Counter(each.config["configurable"]["thread_id"] for each in found)
        assert threads == {
            "shared": 4 * ((count + 1) // 2),
            **{f"process {p}": count // 2 for p in range(4)},
        }
        assert all(map(is_whole, found))


@pytest.mark.parametrize("part", LOADS)
def test_eight_threads_on_one_saver(tmp_path: Path, part: int) -> None:
    """SV-31: with 50 conversations each."""
    path, count = str(tmp_path / "threads.db"), 50 // part
    wrong: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for conversation in range(count):
                thread, parent = f"{name} {conversation}", None
                for n in range(3):
                    parent = store(saver, thread, n, parent)
                found = [*saver.list({"configurable": {"thread_id": thread}})]
                assert len(found) == 3
                assert all(map(is_whole, found))
        except BaseException as error:
            wrong.append(error)

    with SqliteSaver.from_conn_string(path) as saver:
        threads = [threading.Thread(target=work, args=[name]) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len([*saver.list(None)]) == 8 * count * 3


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_eight_processes_open_a_new_file(tmp_path: Path, rounds: int) -> None:
    """SV-31: all at once, and all of them can store something."""
    script = """
import time
path, name, begin = sys.argv[1], sys.argv[2], float(sys.argv[3])
while time.time() < begin:
    pass
with SqliteSaver.from_conn_string(path) as saver:
    saver.setup()
    store(saver, name, 1, None)
"""
    for round in range(rounds):
        path = str(tmp_path / f"{round}.db")
        begin = time.time() + 1
        finish([start(script, path, f"process {p}", begin) for p in range(8)])
        with SqliteSaver.from_conn_string(path) as saver:
            assert len([*saver.list(None)]) == 8


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """CP-54, SV-31: the file opens, and every checkpoint is there whose `put` had returned; the
    writes of a task are there together or not at all."""
    path = str(tmp_path / "threads.db")
    script = """
with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    parent, n = None, 0
    while True:
        parent = store(saver, "t", n, parent)
        print(parent, flush=True)
        n += 1
"""
    acknowledged: set[str] = set()
    for _ in range(kills):
        process = start(script, path)
        assert process.stdout
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(random.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        acknowledged.update(line.strip() for line in process.stdout if line.endswith("\n"))
        process.stdout.close()
        process.wait()

        with SqliteSaver.from_conn_string(path) as saver:
            found = {each.checkpoint["id"]: each for each in saver.list(None)}
        assert acknowledged <= set(found)
        assert all(is_whole(found[id]) for id in acknowledged)
        unfinished = [each for each in found.values() if not is_whole(each)]
        assert all(each.pending_writes == [] for each in unfinished)
    conn = sqlite3.connect(path)
    assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()
