"""A bounded map that threads share."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """A bounded map that threads share; the least recently used entries are evicted, but never the last one put.

    most: the weight of all entries together; each weighs 1 where nothing else is said
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._map: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._map.get(key)
            if found is None:
                return None
            self._map.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        with self._lock:
            before = self._map.pop(key, None)
            self._weight += weight - (0 if before is None else before[1])
            self._map[key] = value, weight
            while self._weight > self._most and len(self._map) > 1:
                self._weight -= self._map.popitem(last=False)[1][1]

    def values(self) -> list[V]:
        """All values now, the least recently used first."""
        with self._lock:
            return [value for value, _ in self._map.values()]

    def clear(self) -> None:
        with self._lock:
            self._map.clear()
            self._weight = 0
