"""A handler as the crawl knows it: its name, its version, and the pages that it wants. Its code runs elsewhere."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

HANDLER_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,39}")  # it names a view, too


@dataclass(frozen=True, kw_only=True)
class HandlerSpec:
    """A handler that was loaded.

    version  the user raises it when the handler changes: items of other versions are stale
    match    regular expressions, searched in the page's URL; one of them must be found, unless there are none
    place    file and line of its function, for a person
    fields   columns of its view: the fields of its items' model with their SQL types; None: it has no model
    deadline_s  seconds that it may take for a page; None: the usual ones
    """

    name: str
    version: int = 1
    match: tuple[str, ...] = ()
    place: str = ""
    fields: dict[str, str] | None = None
    deadline_s: float | None = None

    def fits(self, url: str) -> bool:
        """Whether it wants the page of this URL."""
        return not self._patterns or any(pattern.search(url) for pattern in self._patterns)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(pattern) for pattern in self.match]
