"""Processes that run handlers: each is started, gets pages, and is judged when it ends over one (`app.sandbox.child`).

`app.features.extract.child` is the other end.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import orjson

from app.errors import InputError, ServiceError
from app.features.extract.clean import encoded
from app.model.handler import HandlerSpec
from app.sandbox.child import PYTHON, ChildProcess, ProcessEnding, ProcessPool
from app.sandbox.wire import WireBroken

# -u: what was printed outlasts it
ARGV: Final = (*PYTHON, "-B", "-u", "-m", "app.features.extract.child")
START_S = 60.0  # its modules may import a lot
PAGES_MOST = 5_000  # then a fresh one: a handler may leak


@dataclass(frozen=True, slots=True, kw_only=True)
class PageForHandler:
    """A page on its way to a handler's process.

    values  for `app.features.extract.child`;   body: of the answer, after the document where a browser made one
    """

    values: Mapping[str, Any]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """The answer of one handler about one page.

    failed  misfit, raised, memory, deadline, exit or killed; None: it came to its end
    cause   a line for a person;   traceback: where it was
    ms      milliseconds that the handler took, by the clock
    """

    handler: str
    items: Sequence[Mapping[str, Any]] = ()
    follows: Sequence[Mapping[str, Any]] = ()
    failed: str | None = None
    cause: str | None = None
    traceback: str | None = None
    ms: float = 0.0


@dataclass(slots=True, kw_only=True, eq=False)
class HandlerProcess:
    """A process with loaded handlers. One thread uses it at a time. Made by `start`."""

    child: ChildProcess
    specs: dict[str, HandlerSpec] = field(default_factory=dict)
    is_broken: bool = False

    @property
    def is_alive(self) -> bool:
        return self.child.is_alive

    @property
    def is_worn(self) -> bool:
        return self.is_broken or self.child.documents >= PAGES_MOST

    @property
    def is_usable(self) -> bool:
        return self.is_alive and not self.is_worn

    def handle(
        self,
        page: PageForHandler,
        handler: str,
        *,
        deadline_s: float,
        before: Callable[[int], PageForHandler | None],
    ) -> Handled:
        """Run a handler on a page.

        deadline_s  seconds that it may take
        before      reads the page as it was before a capture, for a handler that asks
        """
        began = time.monotonic()
        job = {"page": page.values, "handler": handler, "deadline_s": deadline_s}
        try:
            answer = _read(self.child.ask(encoded(job), page.body, within_s=deadline_s))
            while "before" in answer:
                earlier = before(answer["before"])
                if earlier is None:
                    self.child.send(encoded({}))
                else:
                    self.child.send(encoded({"page": earlier.values}), earlier.body)
                answer = _read(self.child.receive())
            handled = Handled(ms=(time.monotonic() - began) * 1000, **answer)
        except (WireBroken, orjson.JSONDecodeError, TypeError):
            self.is_broken = True
            ending = self.child.ended()
            kind, cause = _ended(ending, deadline_s)
            ms = (time.monotonic() - began) * 1000
            return Handled(handler=handler, failed=kind, cause=cause, traceback=ending.said, ms=ms)
        self.is_broken = handled.failed == "memory"
        return handled

    def end(self) -> None:
        """End the process and all that it started."""
        self.child.end()


def specs_of(sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = ()) -> list[HandlerSpec]:
    """The handlers of modules and files, loaded in a process that ends again. Raises InputError, ServiceError."""
    made = start(sources, memory_bytes=memory_bytes, variables=variables)
    made.end()
    return list(made.specs.values())


def handler_pool(
    sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = ()
) -> ProcessPool[HandlerProcess]:
    """A pool of such processes. Borrowing raises what `start` does."""
    return ProcessPool(partial(start, sources, memory_bytes=memory_bytes, variables=variables), idle_s=30.0)


def processors() -> int:
    """How many processes can work at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(
    sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = (), shows: bool = False
) -> HandlerProcess:
    """Start a process and let it load its handlers.

    sources    modules and files
    variables  names of ours that it gets beside those of every process (`app.sandbox.child`)
    shows      what handlers print goes to our standard error

    Raises InputError for handlers that cannot be loaded, ServiceError where no process can be started.
    """
    arguments = (str(memory_bytes), *sources)
    try:
        # On a busy machine; the process ends itself at its deadline.
        child = ChildProcess(ARGV, arguments, variables=variables, margin_s=5.0, shows=shows)
    except OSError as error:
        raise ServiceError("a process for handlers", f"cannot be started: {error.strerror or error}") from error
    try:
        return HandlerProcess(child=child, specs=_specs(child, ", ".join(sources)))
    except BaseException:
        child.end()
        raise


def _specs(child: ChildProcess, sources: str) -> dict[str, HandlerSpec]:
    """Wait for its handlers."""
    child.begin(START_S)
    try:
        hello = _read(child.receive())
    except WireBroken:
        ending = child.ended()
        if ending.how == "clock":
            why = f"did not import within {START_S:.0f} s; do less when the module is imported"
        else:
            why = f"does not import: it {_ended(ending, START_S)[1]}; correct it"
        raise InputError(sources, why) from None
    if "refused" in hello:
        what, _, remedy = hello["refused"].partition(": ")
        raise InputError(what, remedy)
    return {each["name"]: HandlerSpec(**each | {"match": tuple(each["match"])}) for each in hello["handlers"]}


def _read(answer: bytes) -> dict[str, Any]:
    """Raises JSONDecodeError, TypeError for what is no answer."""
    found = orjson.loads(answer)
    if not isinstance(found, dict):
        raise TypeError(f"an answer is {type(found).__name__}")
    return found


def _ended(ending: ProcessEnding, deadline_s: float) -> tuple[str, str]:
    """(kind, cause) of a process that ended over a page."""
    match ending.how:
        case "clock" | "processor":
            return "deadline", f"took longer than {deadline_s:g} s"
        case "exit":
            return "exit", f"ended its process with code {ending.what}"
        case "garbled":
            return "exit", "wrote to its process's socket what is no answer"
        case "killed":
            return "killed", f"was killed by {ending.what}: by an operator, or for want of memory"
        case "signal":
            return "exit", f"died of {ending.what}"
