"""The profiles that come with the program, and the one that a crawl asks for: by name, or as a text of its own."""

from functools import lru_cache
from importlib.resources import files
from typing import Final

from app.errors import InputError
from app.model.crawl import OPTIONS
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import read

NAMES: Final = tuple(OPTIONS["profile"].choices)
GENERAL: Final = NAMES[0]


def text_of(name: str) -> str:
    """The TOML of a shipped profile: package data, as constant as code."""
    return files(__package__).joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def profile_of(wish: str) -> Profile:
    """The profile that `crawls.profile` asks for: the name of a shipped one, or TOML. Raises InputError."""
    if wish in NAMES:
        return read(text_of(wish), what=f"profile {wish}")
    if "\n" not in wish and "=" not in wish:
        raise InputError(f"profile {wish}", f"use one of: {', '.join(NAMES)}; or the path of a TOML file")
    return read(wish)
