"""A bounded map that threads share."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """A bounded map that threads share; the least recently used entry is evicted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._map: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            value = self._map.get(key)
            if value is not None:
                self._map.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._map[key] = value
            self._map.move_to_end(key)
            if len(self._map) > self._most:
                self._map.popitem(last=False)

    def values(self) -> list[V]:
        """All values now, the least recently used first."""
        with self._lock:
            return list(self._map.values())

    def clear(self) -> None:
        with self._lock:
            self._map.clear()
