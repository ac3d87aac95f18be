"""How many inputs hypothesis makes of a property: some where a person waits for the tests, all of them in CI (CI
set)."""

import os

IS_FULL = "CI" in os.environ
SHARE, LEAST = 10, 20


def examples(full: int) -> int:
    """A tenth of them, at least 20; `full` in CI."""
    return full if IS_FULL else max(full // SHARE, LEAST)
