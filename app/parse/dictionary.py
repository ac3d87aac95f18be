"""Bounds libxml2's dictionary of names: each tag and attribute name that a thread ever parsed is in it, until it ends.

A page of 1 MiB of made-up names would leave 2 to 3 MiB for good, and worker threads do not end. So a dictionary that
has grown large is dropped before the next document, and lxml makes the thread a new one. Documents keep the one that
they were parsed with as long as they live, and parsers until they parse again. So do stylesheets, which lxml compiles
for a dictionary: they are made anew when `number` changes, in a millisecond.

lxml keeps a thread's dictionary in what Python's C API calls the thread's dict, under a name of its own, and has no
call to drop it. A test that parses pages of made-up names fails where a release keeps it elsewhere.
"""

import ctypes
import threading

from lxml import etree

NAMES_MOST = 10_000  # 0.4 MB; a crawl of ordinary sites takes thousands of pages to meet as many

_thread_dict = ctypes.pythonapi.PyThreadState_GetDict  # https://docs.python.org/3/c-api/init.html
_thread_dict.restype = ctypes.c_void_p  # borrowed: as an object, it would be released once too often


def names() -> int:
    """Names in this thread's dictionary."""
    size: int = etree.memory_debugger.dict_size()
    return size


class _Own(threading.local):
    """number: of the thread's dictionary;   kept: names that were in it from the start."""

    def __init__(self) -> None:
        self.number, self.kept = 0, names()


_own = _Own()


def shrink() -> None:
    """Drop this thread's dictionary if it is large. Call it before a document is parsed."""
    if names() - _own.kept > NAMES_MOST:
        held = ctypes.cast(_thread_dict(), ctypes.py_object).value
        held.pop("_ParserDictionaryContext", None)
        _own.number, _own.kept = _own.number + 1, names()


def number() -> int:
    """The number of this thread's dictionary: another one than before is a new dictionary."""
    return _own.number
