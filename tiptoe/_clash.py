"""Notices a package `app` of the script's own that hides Tiptoe's: one line, instead of an import that fails somewhere.

Tiptoe's commands never meet this: they do not look into the working folder.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def check() -> None:
    """Raises ImportError where `import app` leads to another package than ours."""
    for name in ("app", "workers", "migrations"):
        found = _place(name)
        if found is not None and found != HERE / name:
            raise ImportError(
                f"tiptoe: {found} is found instead of Tiptoe's package {name}; rename it, or start the script from "
                "another folder (the command tiptoe works here all the same)"
            )


def _place(name: str) -> Path | None:
    """The folder or file that `import name` leads to, imported already or not; None: nothing."""
    module = sys.modules.get(name)
    spec = module.__spec__ if module is not None else find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None
