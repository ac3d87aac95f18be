"""`python -P -m workers celery -A app worker …` runs Celery safely in any working folder.

Celery puts the working folder in front of the import path before it imports `app`. A package `app` or `workers` of the
user's own would be found there. So we import ours first, and put the folder at the path's end.
"""

import gc
import os
import sys
from collections.abc import Callable


def run() -> None:
    celery = _load()
    sys.path.append(os.getcwd())  # Celery leaves the path alone where the folder is in it
    sys.argv = sys.argv[1:]
    celery()


def _load() -> Callable[[], None]:
    """Import Celery and our tasks. None of that is garbage: looking for some takes a sixth of a process's start."""
    gc.disable()
    from celery.__main__ import main

    import workers.dispatch
    import workers.extract
    import workers.maintenance
    import workers.render
    import workers.visit
    import workers.watchdog  # noqa: F401  # Celery finds what is imported already

    gc.freeze()
    gc.enable()
    return main  # type: ignore[no-any-return]  # celery is untyped


if __name__ == "__main__":
    run()
