"""A saver in a directory of files, to show how little a saver is.

    root/<thread>/<namespace>/<checkpoint>.checkpoint           one file for each checkpoint
                              <checkpoint>.<task>.writes        one for what a task has written

Names of threads, namespaces and tasks may be anything, so the files are called by their digests;
what they really are stands inside. Ids of checkpoints are spelled in hexadecimal digits, which
sort as the ids do. A file is written under another name and then renamed: whoever reads finds
all of it, or nothing, even if the process dies in between.

There is one lock for each saver, so one process may use a directory at a time.

With a graph, whose threads are there again in the next process:

    graph = builder.compile(checkpointer=DirectorySaver("threads"))
    graph.invoke({"steps": []}, {"configurable": {"thread_id": "1"}})

And is it right? These checks know:

    from minigraph.checkpoint.conformance import checkpointer_test, validate

    @checkpointer_test(name="directory")
    async def directory():
        yield DirectorySaver("checked")

    asyncio.run(validate(directory)).print_report()
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from minigraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from minigraph.checkpoint.serde.base import UnreadableError


def digest(name: Any) -> str:
    return blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def address(thread_id: str, namespace: str, checkpoint_id: str) -> dict[str, Any]:
    place = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": place}


class DirectorySaver(BaseCheckpointSaver[int]):
    """Keeps threads in the files of a directory, which is made if it is not there."""

    def __init__(self, root: str | Path, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self.root = Path(root)
        self.lock = threading.Lock()

    # ------------------------------------------------------------------ files

    def folder(self, config: Any) -> Path:
        place = config["configurable"]
        return self.root / digest(place["thread_id"]) / digest(place.get("checkpoint_ns", ""))

    def write(self, path: Path, content: Any) -> None:
        tag, data = self.serde.dumps_typed(content)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(tag.encode() + b"\n" + data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)

    def read(self, path: Path) -> Any:
        try:
            tag, data = path.read_bytes().split(b"\n", 1)
            return self.serde.loads_typed((tag.decode(), data))
        except ValueError as error:
            raise UnreadableError(f"The file {path} cannot be read: {error}") from error

    def record(self, path: Path, config: Any = None) -> CheckpointTuple | None:
        try:
            thread_id, namespace, checkpoint, metadata, parent = self.read(path)
        except FileNotFoundError:
            return None
        found = []
        for file in path.parent.glob(f"{path.stem}.*.writes"):
            task_id, task_path, writes = self.read(file)
            found += [(task_path, task_id, index, *write) for index, write in writes.items()]
        found.sort(key=lambda write: writes_sort_key(*write[:3]))
        return CheckpointTuple(
            config or address(thread_id, namespace, checkpoint["id"]),
            checkpoint,
            metadata,
            address(thread_id, namespace, parent) if parent else None,
            [(task_id, channel, value) for _, task_id, _, channel, value in found],
        )

    # ------------------------------------------------------------ what a saver does

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        place = config["configurable"]
        thread_id, namespace = str(place["thread_id"]), place["checkpoint_ns"]
        stored = dict(get_checkpoint_metadata(config, metadata))
        content = [thread_id, namespace, checkpoint, stored, get_checkpoint_id(config)]
        name = f"{checkpoint['id'].encode().hex()}.checkpoint"
        with self.lock:
            self.write(self.folder(config) / name, content)
        return address(thread_id, namespace, checkpoint["id"])

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        checkpoint = config["configurable"]["checkpoint_id"].encode().hex()
        path = self.folder(config) / f"{checkpoint}.{digest(task_id)}.writes"
        with self.lock:
            stored = self.read(path)[2] if path.exists() else {}
            for position, (channel, value) in enumerate(writes):
                index = WRITES_IDX_MAP.get(channel, position)
                if index < 0 or index not in stored:
                    stored[index] = [channel, value]
            self.write(path, [task_id, task_path, stored])

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        if id := get_checkpoint_id(config):
            return self.record(self.folder(config) / f"{id.encode().hex()}.checkpoint", config)
        latest_of = {"configurable": {"checkpoint_ns": "", **config["configurable"]}}
        return next(self.list(latest_of), None)

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        place = config["configurable"] if config else {}
        thread = digest(place["thread_id"]) if config else "*"
        namespace = digest(place["checkpoint_ns"]) if "checkpoint_ns" in place else "*"
        only, first = place.get("checkpoint_id"), before and get_checkpoint_id(before)
        name = only.encode().hex() if only else "*"
        files = self.root.glob(f"{thread}/{namespace}/{name}.checkpoint")
        for path in sorted(files, key=lambda path: path.name, reverse=True):
            if limit is not None and limit <= 0:
                return
            if first and path.stem >= first.encode().hex():
                continue
            record = self.record(path)
            if record and all(record.metadata.get(k) == v for k, v in (filter or {}).items()):
                yield record
                limit = limit and limit - 1

    def delete_thread(self, thread_id: str) -> None:
        with self.lock:
            shutil.rmtree(self.root / digest(thread_id), ignore_errors=True)

    # ------------------------------------------------------------ the async twins

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.put, *args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.to_thread(self.put_writes, *args, **kwargs)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for record in await asyncio.to_thread(lambda: [*self.list(config, **options)]):
            yield record

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)
