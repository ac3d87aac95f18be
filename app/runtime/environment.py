"""The environment of processes that read what strangers sent, run code of others, or serve: a list of what they get.

A worker's environment holds passwords and whatever else its operator keeps there. Standard library only.
"""

from collections.abc import Collection, Mapping
from typing import Final

NAMES: Final = frozenset({"PATH", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV", "HOME"})
PREFIXES: Final = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_")  # what an interpreter and the loader need to start


def allowed(ours: Mapping[str, str], also: Collection[str] = ()) -> dict[str, str]:
    """The variables of ours that such a process gets.   also: further names"""
    return {name: value for name, value in ours.items() if name in NAMES or name in also or name.startswith(PREFIXES)}
