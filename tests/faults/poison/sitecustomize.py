"""Poison: makes a library under the parsers misbehave over documents that say so. Python imports it at its start where
this folder is on PYTHONPATH, so it works in workers and in the readers that they start.

A document that holds POISON:word does what `_DEEDS` has for the word, when w3lib looks for its byte order mark.
"""

import ctypes
import os
import re
import signal
import sys
import threading

import w3lib.encoding

_MARK = re.compile(rb"POISON:(\w+)")
_BLOCK_BYTES = 64 * 1024 * 1024
_BLOCKS = 10
_honest = w3lib.encoding.read_bom


def _loop() -> None:
    while True:
        pass


def _hold_the_lock() -> None:
    """Backtracks for ever, and no other thread of the interpreter gets its turn."""
    re.fullmatch("(a|a)*b", "a" * 64)


def _fill() -> None:
    """Takes 640 MiB, though it never touches them, and is then killed as the kernel kills who has all there is."""
    hoard = [bytearray(_BLOCK_BYTES) for _ in range(_BLOCKS)]
    os.kill(os.getpid(), signal.SIGKILL)
    del hoard


def _say() -> None:
    print("words on standard output", flush=True)
    os.write(1, b"more of them\n")


def _raise() -> None:
    raise KeyError(os.environ.get("TIPTOE_DATABASE_URL", "no database"))


_DEEDS = {
    b"abort": os.abort,
    b"segfault": lambda: ctypes.string_at(0),
    b"loop": _loop,
    b"lock": _hold_the_lock,
    b"sleep": lambda: threading.Event().wait(),
    b"fill": _fill,
    b"killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    b"exit": lambda: os._exit(3),
    b"raise": _raise,
    b"say": _say,
    b"recurse": lambda: _recurse(),
}


def _recurse() -> None:
    _recurse()


def _poisoned(data: bytes) -> "tuple[None, None] | tuple[str, bytes]":
    found = _MARK.search(data)
    if found is not None:
        sys.stderr.write(f"poison: {found[1].decode()}\n")
        sys.stderr.flush()
        _DEEDS[found[1]]()
    return _honest(data)


w3lib.encoding.read_bom = _poisoned
