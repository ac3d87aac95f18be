"""Remembers, beside the parts of an export, how far it is: the same command goes on behind the last whole part."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from app.errors import InputError
from app.features.export.target import ExportPlace, put

NAME: Final = "export.json"


@dataclass(slots=True, kw_only=True)
class ExportState:
    """The contents of export.json.

    wish      what is exported, as given; another wish must not go on with these parts
    parts     name and rows of each whole file; for Markdown none
    after     the position behind the last whole part
    rows      in all of them
    next_since  the --since of the next increment
    since     rows from then on; None: all, or as `wish` says
    is_done   nothing is left to do
    """

    wish: dict[str, Any]
    next_since: str
    after: tuple[str, ...]
    parts: list[tuple[str, int]] = field(default_factory=list)
    rows: int = 0
    since: str | None = None
    is_done: bool = False


def recall(target: ExportPlace, wish: dict[str, Any]) -> ExportState | None:
    """The state of an export that did not end; None: there is none. Raises InputError for another export's folder."""
    found = target.get(NAME)
    if found is None:
        return None
    try:
        document = json.loads(found)
        state = ExportState(
            **{**document, "after": tuple(document["after"]), "parts": [tuple(part) for part in document["parts"]]}
        )
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{NAME} in {target.shown}", f"cannot be read ({error}); name another folder") from error
    if state.wish != wish:
        raise InputError(f"--to {target.shown}", f"holds another export ({NAME} says which); name another folder")
    if state.is_done:
        raise InputError(
            f"--to {target.shown}",
            f"holds this export already; name another folder, or continue with --since {state.next_since}",
        )
    return state


def keep(target: ExportPlace, state: ExportState) -> None:
    """Write the state, replacing the one before."""
    put(target, NAME, json.dumps(asdict(state), indent=1, ensure_ascii=False) + "\n")
