"""`celery -A app` where a package `app` or `workers` of the user's own lies in the working folder: one line that says
so.

Celery puts the working folder in front of the import path, so Tiptoe's code is never reached there. This module is:
Celery loads it as a plugin of its command line (entry point `celery.commands`). It imports nothing of Tiptoe's: that
would decide whose `app` is found.
A package `app` that holds a Celery app of its own is meant, and left alone.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
command = click.Command("tiptoe-clash", hidden=True)  # what an entry point of Celery's has to be


def clash(argv: Sequence[str], folder: Path) -> str | None:
    """The line to say, or None. argv: of celery, its own name first."""
    if not _asks_for_app(argv) or folder.resolve() == HERE or "app" in sys.modules:
        return None
    for name in ("app", "workers"):
        found = next((path for path in (folder / name / "__init__.py", folder / f"{name}.py") if path.exists()), None)
        if found is None:
            continue
        if name == "app" and _has_celery(folder):
            return None
        what = found.parent if found.name == "__init__.py" else found
        remedy = "start it from another folder; tiptoe crawl and tiptoe up work here all the same"
        return f"tiptoe: celery -A app: {what} is found instead of Tiptoe's package {name}; {remedy}"
    return None


def _asks_for_app(argv: Sequence[str]) -> bool:
    pairs = zip(argv, [*argv[1:], ""], strict=True)
    return any(word in {"-Aapp", "--app=app"} or (word in {"-A", "--app"} and value == "app") for word, value in pairs)


def _has_celery(folder: Path) -> bool:
    package = folder / "app"
    files = [package / "__init__.py", package / "celery.py", folder / "app.py"]
    return any(
        file.exists() and "celery" in f"{file.name} {file.read_text(errors='replace')}".lower() for file in files
    )


if line := clash(sys.argv, Path(os.getcwd())):
    print(line, file=sys.stderr)
    raise SystemExit(2)
