"""The verdict for each purpose, from what the owner of a page states: allowed, refused or unknown, and by which words.

A refusal is read widely, a permission narrowly, and the most careful reading wins: one refusal refuses, whatever else
permits; a condition, or a licence that could not be read, leaves it unknown; only then does a permission allow.
Sources, by name and version, are in docs/rights.md: draft-ietf-aipref-vocab-08 ("Combining Preferences" has the same
order), contentsignals.org with `use` of July 2026, RSL 1.0, TDMRep of 10 May 2024, robots meta tags, status 402.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from app.policy.tdm import USE, Signal


class Purpose(StrEnum):
    """A purpose that a page may be used for."""

    ARCHIVE = "archive"  # a copy of the whole page is kept and handed on
    SEARCH = "search"  # it is found by its words, and shown by a link and an excerpt
    AI_INPUT = "ai-input"  # a model gets it as input: answers, summaries, grounding
    AI_TRAIN = "ai-train"  # a model is trained or tuned with it, or it is mined


class PurposeAnswer(StrEnum):
    """The verdict for a purpose."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNKNOWN = "unknown"  # nobody said, or what they said could not be read


class PurposeVerdict(NamedTuple):
    """A verdict, and the statement that decided; None: there is none."""

    answer: PurposeAnswer
    by: Signal | None = None

    @property
    def words(self) -> str | None:
        return None if self.by is None else shown(self.by)


UNKNOWN: Final[Mapping[str, str]] = {purpose.value: PurposeAnswer.UNKNOWN.value for purpose in Purpose}
_ALL: Final = frozenset(Purpose)
_A, _S, _I, _T = Purpose.ARCHIVE, Purpose.SEARCH, Purpose.AI_INPUT, Purpose.AI_TRAIN
_AI: Final = frozenset({_I, _T})
_NONE: Final[frozenset[Purpose]] = frozenset()
CONDITION: Final = "conditional"  # the value of a permission that asks for something in return
UNREAD: Final = "unread"  # a licence that is named, and was not read: nobody knows what it refuses
PAYMENT: Final = "payment"  # status 402
# By the name of a use: the purposes that a refusal of it refuses, and those that a permission of it allows.
_USES: Final[Mapping[str, tuple[frozenset[Purpose], frozenset[Purpose]]]] = {
    "archive": (frozenset({_A}), frozenset({_A})),
    "search": (frozenset({_S}), frozenset({_S})),
    "ai-input": (frozenset({_I}), frozenset({_I})),
    "ai-use": (frozenset({_I}), frozenset({_I})),
    "ai-output": (frozenset({_I}), _NONE),
    "ai-train": (frozenset({_T}), frozenset({_T})),
    "train-ai": (frozenset({_T}), frozenset({_T})),
    "train-genai": (frozenset({_T}), _NONE),
    "genai": (_AI, _NONE),
    "ai": (_AI, _AI),
    "tdm": (_AI, _NONE),
    "bots": (_ALL, _ALL),
    "all": (_ALL, _ALL),
    "tdm-reservation": (_AI, frozenset({_T})),
    "noai": (_AI, _NONE),
    PAYMENT: (_ALL, _NONE),
}
_LEVELS: Final = {"immediate": _ALL, "reference": frozenset({_A, _I, _T})}
_DIRECTIVES: Final = {
    "noindex": _ALL,
    "none": _ALL,
    "noarchive": frozenset({_A, _I, _T}),
    "nosnippet": frozenset({_I}),
}


def of_directives(line: str | None) -> list[Signal]:
    """The directives for robots that refuse a purpose, as statements.   line: as it is on record"""
    names = (each.strip() for each in (line or "").split(","))
    return [_directive(name) for name in names if name in _DIRECTIVES]


def of_keeping_out(line: str | None) -> list[Signal]:
    """The statement that keeps a page out of the index though no directive of today names it: its time is over."""
    late = next((each.strip() for each in (line or "").split(",") if each.strip().startswith("unavailable")), "noindex")
    return [_directive(late)]


def _directive(name: str) -> Signal:
    return Signal(source="robots directives", name=name, reserved=True, value="")


def verdicts(statements: Iterable[Signal]) -> dict[Purpose, PurposeVerdict]:
    """The verdict for each purpose. Of several statements of one weight the first decides."""
    found: dict[Purpose, tuple[int, PurposeVerdict]] = {}
    for each in statements:
        weight, answer, purposes = _meaning(each)
        for purpose in purposes:
            if weight > found.get(purpose, (0, None))[0]:
                found[purpose] = weight, PurposeVerdict(answer, each)
    return {
        purpose: found[purpose][1] if purpose in found else PurposeVerdict(PurposeAnswer.UNKNOWN) for purpose in Purpose
    }


def shown(signal: Signal) -> str:
    """A statement in a line: "ai-train=no (robots.txt Content-Signal)"."""
    value = f"={signal.value}" if signal.value else ""
    return f"{signal.name}{value} ({signal.source})"


def _meaning(each: Signal) -> tuple[int, PurposeAnswer, frozenset[Purpose]]:
    """The weight of a statement among others, its answer, and the purposes that it speaks of."""
    refuses, allows = _USES.get(each.name, (_NONE, _NONE))
    if each.name == USE:
        return 3, PurposeAnswer.REFUSED, _LEVELS.get(each.value.lower(), _NONE)
    if each.source == "robots directives" and each.name != "noai":
        return 3, PurposeAnswer.REFUSED, _DIRECTIVES.get(each.name, _ALL)
    if each.reserved:
        return 3, PurposeAnswer.REFUSED, refuses
    if each.name == UNREAD:
        return 2, PurposeAnswer.UNKNOWN, _ALL
    if each.value == CONDITION:
        return 2, PurposeAnswer.UNKNOWN, refuses
    is_allowed = each.value == "0" if each.name == "tdm-reservation" else each.value.lower() in {"y", "yes", "?1"}
    return (1, PurposeAnswer.ALLOWED, allows) if is_allowed else (0, PurposeAnswer.UNKNOWN, _NONE)
