"""Resolves host names by the system's resolver, with bounds on time and number, and a cache.

getaddrinfo cannot be interrupted, so it runs on a few daemon threads and the caller waits only as long as it
wants; an answer that arrives later still fills the cache. At most one lookup per name is in flight.
When a name gets no answer, either the name is dead or our name server is. If it is the server, names that
resolved before get no answer either.
getaddrinfo hides the records' TTL, so answers are kept for a fixed time. Addresses are not judged here:
`app.net.connection` asks the guard about each.
"""

import ipaddress
import math
import queue
import socket
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.clock import monotonic
from app.errors import NotSent
from app.net.address import destination
from app.net.sockets import exhausted, is_exhausted

WITNESSED_S = 5.0
GetAddrInfo = Callable[..., Sequence[tuple[Any, ...]]]


class DnsFailed(Exception):
    """The name did not resolve, or not in time. `str(error)` says why, in one line."""


@dataclass(slots=True)
class _Answer:
    """An answer in the cache.

    addresses   of the name; none with an `error`
    until_s     the clock's second at which it expires
    not_sent    set when the failure is ours and says nothing about the name
    """

    addresses: tuple[str, ...]
    error: str
    until_s: float
    not_sent: NotSent | None = None


@dataclass(slots=True)
class _Lookup:
    """A lookup in flight. `done` is set when `answer` is."""

    host: str
    done: threading.Event = field(default_factory=threading.Event)
    answer: _Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverLimits:
    """The limits of a resolver's cache and of its waits.

    ttl_s, negative_ttl_s   how long an answer, and a failure, is cached
    max_entries             names cached; the least recently used are evicted first
    timeout_s               longest wait for one lookup
    threads                 lookups at once; a dead name server holds one for ten seconds, so not too few
    """

    ttl_s: float = 300.0
    negative_ttl_s: float = 30.0
    max_entries: int = 10_000
    timeout_s: float = 5.0
    threads: int = 32


_USUAL = ResolverLimits()


class Resolver:
    """Resolves names. Thread-safe; make it after a fork, since its threads do not survive one.

    fixed                {name: address} that are never looked up; "*.example.org" is every name below it
    getaddrinfo, clock   the system's, or a test's
    """

    def __init__(
        self,
        limits: ResolverLimits = _USUAL,
        *,
        fixed: Mapping[str, str] = MappingProxyType({}),
        getaddrinfo: GetAddrInfo = socket.getaddrinfo,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._limits = limits
        self._fixed = {name.lower(): address for name, address in fixed.items()}
        self._getaddrinfo = getaddrinfo
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._in_flight: dict[str, _Lookup] = {}
        self._waiting: queue.SimpleQueue[_Lookup] = queue.SimpleQueue()
        self._threads = 0
        self._witnesses: deque[str] = deque(maxlen=3)  # the latest names that resolved
        self._judging = threading.Lock()
        self._judged_until_s = -math.inf
        self._is_silent = False

    def resolve(self, host: str, port: int, timeout_s: float) -> list[str]:
        """Resolve `host`: its addresses in the system's order of preference, at least one. Raises DnsFailed, NotSent.

        host: a name or a literal, IPv6 with or without brackets.   port: not used yet; lookups are per name.
        """
        if (literal := _literal(host)) is not None:
            return [literal]
        if self._fixed and (address := self._fixed_for(host.lower())) is not None:
            return [address]
        answer = self._remembered_or_looked_up(host.lower(), min(timeout_s, self._limits.timeout_s))
        if answer.not_sent is not None:
            raise NotSent(answer.not_sent.what, answer.not_sent.remedy)
        if answer.error:
            raise DnsFailed(answer.error)
        return list(answer.addresses)

    def begin(self, host: str) -> None:
        """Begin to look a name up: `resolve` finds the answer, or waits for it. Many names take as long as one.

        Where too many lookups wait already, `resolve` says so.
        """
        with self._lock, suppress(DnsFailed):
            if _literal(host) is None and not self._fixed_for(host.lower()) and host.lower() not in self._answers:
                self._join_or_start(host.lower())

    def forget(self, host: str) -> None:
        """Look the name up anew next time: it may have moved, or the answer may have lied."""
        with self._lock:
            self._answers.pop(host.lower(), None)

    def _fixed_for(self, host: str) -> str | None:
        return self._fixed.get(host) or self._fixed.get(f"*.{host.partition('.')[2]}")

    def _remembered_or_looked_up(self, host: str, timeout_s: float) -> _Answer:
        with self._lock:
            if (answer := self._answers.get(host)) is not None and answer.until_s > self._clock():
                self._answers.move_to_end(host)
                return answer
            lookup = self._join_or_start(host)
        if not lookup.done.wait(max(timeout_s, 0)) or lookup.answer is None:
            if self._is_silent:
                raise _silent()
            raise DnsFailed(f"{host}: no answer within {max(timeout_s, 0):.1f} s")
        return lookup.answer

    def _join_or_start(self, host: str) -> _Lookup:
        if (lookup := self._in_flight.get(host)) is not None:
            return lookup
        # Each of these has a caller that waits or has given up: so many means that the name server is dead.
        if len(self._in_flight) >= self._limits.max_entries:
            raise DnsFailed(f"{host}: {len(self._in_flight)} lookups are waiting already")
        lookup = self._in_flight[host] = _Lookup(host)
        self._waiting.put(lookup)
        if self._threads < min(len(self._in_flight), self._limits.threads):
            self._threads += 1
            threading.Thread(target=self._serve, name="dns", daemon=True).start()
        return lookup

    def _serve(self) -> None:
        while True:
            lookup = self._waiting.get()
            answer = self._look_up(lookup.host)
            with self._lock:
                lookup.answer = self._answers[lookup.host] = answer
                self._answers.move_to_end(lookup.host)
                if len(self._answers) > self._limits.max_entries:
                    self._answers.popitem(last=False)
                del self._in_flight[lookup.host]
            lookup.done.set()

    def _look_up(self, host: str) -> _Answer:
        try:
            rows = self._getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # UnicodeError, of a label over 63 bytes, is a ValueError
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            told = f"{host}: {reason}"
            if is_exhausted():
                return _Answer((), told, self._clock(), exhausted(told))
            if not _has_no_answer(error):
                self._is_silent = False
            elif self._judge(host):
                return _Answer((), told, self._clock(), _silent())
            return _Answer((), told, self._clock() + self._limits.negative_ttl_s)
        addresses = tuple(dict.fromkeys(destination(str(row[4][0]).partition("%")[0]) for row in rows))
        if not addresses:
            return _Answer((), f"{host}: no address", self._clock() + self._limits.negative_ttl_s)
        self._is_silent = False
        if host not in self._witnesses:
            self._witnesses.append(host)
        return _Answer(addresses, "", self._clock() + self._limits.ttl_s)

    def _judge(self, failed: str) -> bool:
        """Whether our name server answers for none of the latest names that it resolved.

        Without such names it counts as alive.

        One thread asks; the threads that waited use its result, which holds for WITNESSED_S seconds.
        """
        with self._judging:
            if self._clock() >= self._judged_until_s:
                witnesses = [name for name in tuple(self._witnesses) if name != failed]  # others add to them meanwhile
                self._is_silent = bool(witnesses) and not any(self._is_answered(name) for name in witnesses)
                self._judged_until_s = self._clock() + WITNESSED_S
            return self._is_silent

    def _is_answered(self, name: str) -> bool:
        try:
            self._getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError as error:
            return not _has_no_answer(error)
        return True


def _has_no_answer(error: Exception) -> bool:
    # getaddrinfo(3): the name server's failure, not the name's
    return isinstance(error, socket.gaierror) and error.errno in {socket.EAI_AGAIN, socket.EAI_FAIL}


def _silent() -> NotSent:
    return NotSent("the name server does not answer", "check the machine's DNS; the crawl resumes when it answers")


def _literal(host: str) -> str | None:
    try:
        return destination(str(ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))))
    except ValueError:
        return None
