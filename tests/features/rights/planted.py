"""Pages that are planted with statements, and the sets of them that each purpose is allowed for: said, not computed."""

import random
from typing import Any, NamedTuple

from app.features.rights.purpose import Purpose
from app.policy.tdm import Signal
from tests.features.rights.said import licence, stated

# What an owner says → the purposes that are allowed by it, and those of which nobody knows; all others are refused
SAID: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", "archive search ai-input ai-train"),
    ({"headers": {"content-signal": "search=yes, ai-train=no"}}, "search", "archive ai-input"),
    ({"headers": {"content-signal": "search=yes, ai-input=yes, ai-train=yes"}}, "search ai-input ai-train", "archive"),
    ({"headers": {"content-signal": "search=yes, ai-train=no, use=reference"}}, "search", ""),
    ({"headers": {"content-usage": "train-ai=y"}}, "ai-train", "archive search ai-input"),
    ({"headers": {"content-usage": "train-ai=y", "content-signal": "ai-train=no"}}, "", "archive search ai-input"),
    ({"meta": {"tdm-reservation": "1"}}, "", "archive search"),
    ({"headers": {"x-robots-tag": "noarchive", "content-signal": "search=yes"}}, "search", ""),
    ({"headers": {"x-robots-tag": "noai"}}, "", "archive search"),
    ({"document": licence('<permits type="usage">all</permits>')}, "archive search ai-input ai-train", ""),
    ({"document": licence('<prohibits type="usage">ai-all</prohibits>')}, "", "archive search"),
    ({"document": licence('<permits type="usage">ai-train</permits><payment type="training"/>')}, "", ""),
]


class PlantedPage(NamedTuple):
    """A page, what its owner states, and what follows."""

    path: str
    statements: list[Signal]
    allowed: frozenset[Purpose]
    unknown: frozenset[Purpose]


def pages(n: int, rng: random.Random) -> list[PlantedPage]:
    known = [
        (stated(**said), frozenset(map(Purpose, allowed.split())), frozenset(map(Purpose, unknown.split())))
        for said, allowed, unknown in SAID
    ]
    found = []
    for number in range(n):
        said, allowed, unknown = rng.choice(known)
        statements = [*said]
        rng.shuffle(statements)  # their order decides nothing
        found.append(PlantedPage(f"/page-{number}", statements, allowed, unknown))
    return found
