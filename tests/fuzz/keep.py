"""Which inputs are worth keeping: those that take a step, from one line to another, that no smaller one takes.

Steps are seen with Python's own tracing, without what libFuzzer compiles in, so that anybody can check a corpus.
"""

import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.targets import Target

MOST_FILES = 200
MOST_BYTES = 300_000
_NAMED = ("bug-", "seed-")  # kept whatever they reach
Step = tuple[str, int, int]


def keep(target: Target, found: Iterable[bytes]) -> int:
    """Writes what is new of `found` into the corpus, and takes out what it makes needless. The number of new files."""
    files = {file: file.read_bytes() for file in target.inputs()}
    named = [body for file, body in files.items() if file.name.startswith(_NAMED)]
    seen: set[Step] = set().union(*(steps(target, body) for body in named))
    count, size = len(named), sum(map(len, named))
    others = {file: body for file, body in files.items() if not file.name.startswith(_NAMED)}
    kept: set[Path] = set()
    for body in sorted({*others.values(), *found} - set(named), key=lambda each: (len(each), each)):
        if (new := steps(target, body) - seen) and count < MOST_FILES and size + len(body) <= MOST_BYTES:
            seen |= new
            count, size = count + 1, size + len(body)
            file = target.corpus / sha256(body).hexdigest()[:16]
            file.write_bytes(body)
            kept.add(file)
    for file in others.keys() - kept:
        file.unlink()
    return len(kept - others.keys())


def steps(target: Target, body: bytes) -> set[Step]:
    """(file, line, next line) within the functions of the target's modules. An input that is at fault takes some,
    too."""
    watched = {_file(name) for name in target.modules}
    taken: set[Step] = set()
    last: dict[FrameType, int] = {}

    def step(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            taken.add((frame.f_code.co_filename, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return":
            last.pop(frame, None)
        return step

    def call(frame: FrameType, _event: str, _: Any) -> Any:
        return step if frame.f_code.co_filename in watched else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        target.check(body)
    except Exception:  # noqa: BLE001  # whatever it raises is the fault, and told elsewhere
        return taken
    finally:
        sys.settrace(before)
    return taken


def reached(targets: Iterable[Target]) -> dict[str, tuple[set[int], set[int]]]:
    """By module of `app`: the lines that the corpora reach, and all lines of the functions that these stand in."""
    taken = {
        (file, line) for each in targets for body in each.inputs() for file, _, line in steps(each, body.read_bytes())
    }
    found = {}
    for name in sorted({name for each in targets for name in each.modules if name.startswith("app.")}):
        lines = {line for file, line in taken if file == _file(name)}
        entered = [of_one for of_one in _functions(_code(name)) if not lines.isdisjoint(of_one)]
        found[name] = lines, lines.union(*entered)
    return found


def _file(name: str) -> str:
    return inspect.getfile(importlib.import_module(name))


def _code(name: str) -> CodeType:
    file = Path(_file(name))
    return compile(file.read_bytes(), str(file), "exec")


def _functions(code: CodeType) -> Iterator[set[int]]:
    """The lines of each function, without those of functions within it."""
    if code.co_flags & inspect.CO_OPTIMIZED:  # not a module or the body of a class
        yield {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _functions(constant)
