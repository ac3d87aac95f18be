"""A check: its finding and its remedy. The doctor, the archive, rendering and webhooks make some each."""

from dataclasses import dataclass
from enum import StrEnum

from app.errors import TiptoeError

MOST_NAMED = 10


class Grade(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check. name: what was checked.   finding: what was found.   remedy: what to do; empty when all is well."""

    name: str
    grade: Grade
    finding: str
    remedy: str = ""


def broken(name: str, error: TiptoeError) -> Check:
    """A check that ended in an error, which holds both the finding and the remedy."""
    what, remedy = getattr(error, "what", str(error)), getattr(error, "remedy", "")
    return Check(name=name, grade=Grade.FAIL, finding=what, remedy=remedy)
