"""The wishes of a person for a crawl, as one value from the command line to its row and back; and a change of it.

A new wish is a field of both classes, a column of `crawls` with the same name, and an option in
`app.cli.crawl_options`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Limits at which a crawl ends, or goes no further. None: no limit.

    max_pages    pages of a round
    max_bytes    body bytes on the wire of a round
    max_depth    links from a seed; 0: the seeds alone
    max_seconds  seconds since the last start or resume
    """

    max_pages: int | None = None
    max_bytes: int | None = None
    max_depth: int | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec:
    """All that a crawl is asked to be. Checked by `app.policy.crawl_spec`.

    scope            how far it goes from its seeds: host, domain, prefix or any
    include          regular expressions; a link must match one of them, unless there are none
    exclude          regular expressions; a link must match none of them
    budgets          where it ends
    keep_fresh       it does not end, and fetches pages again when they are due
    sitemaps         which it reads: none; declared: those that robots.txt names; all: also /sitemap.xml where it names
                     none
    honour_opt_outs  pages whose owner reserves text and data mining are not kept
    profile          what it values: the name of a shipped profile, or a TOML text
    handlers         names of the handlers that get its pages; none: every handler that is loaded
    search           the words of its pages are indexed for `tiptoe search`
    archive          answers are kept in the archive, with their bodies
    keep_links       links are kept as rows: from, to, anchor text, rel
    near_duplicates  its pages are compared with each other, to find those that say nearly the same
    every_s          seconds from the beginning of a round to the next; 0: rounds are begun by hand
    render           pages that a browser opens: auto (those that are empty without JavaScript), never, or always (all)
    """

    scope: str = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    budgets: Budgets = field(default_factory=Budgets)
    keep_fresh: bool = False
    sitemaps: str = "all"
    honour_opt_outs: bool = False
    profile: str = "general"
    handlers: tuple[str, ...] = ()
    search: bool = False
    archive: bool = True
    keep_links: bool = False
    near_duplicates: bool = True
    render: str = "auto"
    every_s: float = 0.0

    @classmethod
    def from_columns(cls, row: Any) -> "CrawlSpec":
        """The wishes in a row of `crawls`: an attribute for each field, and for each budget."""
        wishes = {name: getattr(row, name) for name in _WISHES}
        patterns = {name: tuple(wishes[name]) for name in _LISTS}
        budgets = Budgets(**{budget.name: getattr(row, budget.name) for budget in fields(Budgets)})
        return cls(**{**wishes, **patterns, "budgets": budgets})

    def columns(self) -> dict[str, Any]:
        """The values of its columns, by name; patterns and handlers are lists, as the driver takes them."""
        wishes = {name: getattr(self, name) for name in _WISHES}
        patterns = {name: list(wishes[name]) for name in _LISTS}
        budgets = {budget.name: getattr(self.budgets, budget.name) for budget in fields(Budgets)}
        return {**wishes, **patterns, **budgets}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlChange:
    """The parts of a `CrawlSpec` that change. None: as it is.

    include, exclude  all that there shall be
    budgets           those that change, by name; None there: no limit
    """

    scope: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    budgets: Mapping[str, float | None] = field(default_factory=dict)
    keep_fresh: bool | None = None
    sitemaps: str | None = None
    honour_opt_outs: bool | None = None
    profile: str | None = None
    handlers: tuple[str, ...] | None = None
    search: bool | None = None
    archive: bool | None = None
    keep_links: bool | None = None
    near_duplicates: bool | None = None
    render: str | None = None
    every_s: float | None = None

    @property
    def is_empty(self) -> bool:
        return self == CrawlChange()

    @property
    def words(self) -> str:
        """The change in one line, such as `scope=domain; max_pages=50`. A profile of one's own is named so."""
        wishes = {name: getattr(self, name) for name in _WISHES}
        return "; ".join(
            f"{name}={_word(value)}"
            for name, value in {**wishes, **self.budgets}.items()
            if value is not None or name in self.budgets
        )

    def of(self, spec: CrawlSpec) -> CrawlSpec:
        """The spec with this change."""
        given: dict[str, Any] = {name: value for name in _WISHES if (value := getattr(self, name)) is not None}
        budgets: dict[str, Any] = dict(self.budgets)
        return replace(spec, **given, budgets=replace(spec.budgets, **budgets))


def _word(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case tuple():
            return " ".join(map(str, value)) or "none"
        case str() if "\n" in value:
            return "its own"
        case _:
            return str(value)


_LISTS: Final = ("include", "exclude", "handlers")
_WISHES: Final = tuple(wish.name for wish in fields(CrawlSpec) if wish.name != "budgets")
