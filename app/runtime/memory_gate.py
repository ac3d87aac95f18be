"""Bounds the memory of documents that are read at once, and returns it to the system afterwards.

A document of 1 MiB takes up to 140 MiB while it is read, and threads are many: only so much is read at a time. malloc
keeps freed memory, for each thread apart: up to as much again for each thread that ever read such a document. So once
enough has been freed, it is trimmed. Small documents, nearly all there are, pass freely.
"""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

MIB = 1024 * 1024
SMALL_BYTES = 32 * 1024
# Of a tree, for each "<"; of everything else, for each byte. The worst of 68 kinds of documents (docs/reliability.md).
BYTES_PER_TAG = 330
BYTES_PER_BYTE = 44
_TRIM_BYTES = 64 * MIB  # freed since the last trim
_trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's


class MemoryGate:
    """The room for documents, one per process.

    hung_s      a parse running longer counts as hung, and frees its room
    look_s      who waits is asked so often whether it may
    patience_s  the longest wait: with a request before it and a settle after it, a visit is not yet taken for hung
    """

    def __init__(
        self,
        *,
        most_bytes: int = 128 * MIB,
        hung_s: float = 10.0,
        look_s: float = 1.0,
        patience_s: float = 30.0,
    ) -> None:
        self.look_s, self.patience_s = look_s, patience_s
        self._most_bytes = most_bytes
        self._hung_s = hung_s
        self._inside: dict[object, tuple[float, int]] = {}  # since a monotonic second, so many bytes
        self._freed = 0
        self._changed = threading.Condition()

    def reading(
        self,
        body: bytes,
        *,
        may_wait: Callable[[], bool],
        waits: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> AbstractContextManager[bool]:
        """Context around the reading of a document. It waits for room, as long as it may.

        Its value: whether there is room for the document where nothing else is read. One that is too large is read
        apart, so that this process does not grow by it.

        may_wait  asked when the wait begins, and each look_s. False: it is read without room. What it raises is raised
        waits     makes a context around that wait, where there is one
        """
        return nullcontext(True) if len(body) < SMALL_BYTES else self._reading(body, may_wait, waits)

    @contextmanager
    def _reading(
        self, body: bytes, may_wait: Callable[[], bool], waits: Callable[[], AbstractContextManager[None]]
    ) -> Iterator[bool]:
        tree, me = BYTES_PER_TAG * body.count(b"<"), object()
        weight = tree + BYTES_PER_BYTE * len(body)
        if not self._has_entered(me, weight):
            with waits():
                self._enter(me, weight, may_wait)
        try:
            yield weight <= self._most_bytes
        finally:
            self._leave(me, tree)

    def _has_entered(self, me: object, weight: int) -> bool:
        with self._changed:
            has_room = self._has_room(weight)
            if has_room:
                self._inside[me] = time.monotonic(), weight
        return has_room

    def _enter(self, me: object, weight: int, may_wait: Callable[[], bool]) -> None:
        while may_wait():  # it may ask Postgres: the room is not held up meanwhile
            with self._changed:
                if not self._has_room(weight):
                    self._changed.wait(self.look_s)
            if self._has_entered(me, weight):
                return
        with self._changed:
            self._inside[me] = time.monotonic(), weight

    def _has_room(self, weight: int) -> bool:
        since = time.monotonic() - self._hung_s
        held = sum(bytes for began, bytes in self._inside.values() if began > since)
        return not held or held + weight <= self._most_bytes

    def _leave(self, me: object, tree: int) -> None:
        with self._changed:
            del self._inside[me]
            self._freed += tree
            is_much = self._freed >= _TRIM_BYTES
            if is_much:
                self._freed = 0
            self._changed.notify_all()
        if is_much and _trim is not None:
            _trim(0)
