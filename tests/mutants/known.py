"""Survivors that are no gap of the tests: each with the reason why nobody can tell it from the code, or need not."""

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")


def reasons() -> dict[str, str]:
    """By the mutant's name."""
    return {each["mutant"]: each["reason"] for each in tomllib.loads(FILE.read_text())["known"]}
