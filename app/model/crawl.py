"""The catalogue of a crawl's options, and their values on the way from a person to a row of `crawls` and back.

An option is a field of `CrawlWishes` (a limit: of `Budgets`) with its `Option`, and a keyword of `CrawlOptions`. The
commands, the forms, `import tiptoe`, JSON, the queries and the table of the docs are made of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypedDict, get_args, get_origin, get_type_hints

Kind = Literal["flag", "choice", "list", "whole", "number", "interval", "profile"]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a crawl: its words on every face, and its bounds.

    help      what it changes, as a sentence without its full stop
    choices   value → what that means
    other     values beside the choices, in words
    least, most  bounds of a number
    metavar   the word for its value in `--help`
    none      the word for no value
    name      as faces call it, if not by its column
    flag      as commands call it, if not by its name: it is given once for each value
    is_fixed  of a crawl that exists, only an edit changes it
    lapses    `crawl run` without it takes it away
    """

    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    other: str = ""
    least: float = 0
    most: float = 0
    metavar: str = ""
    none: str = ""
    name: str = ""
    flag: str = ""
    is_fixed: bool = False
    lapses: bool = False
    column: str = ""
    kind: Kind = "flag"
    default: object = None

    @property
    def title(self) -> str:
        """Its name in words: keep fresh."""
        return self.name.replace("_", " ")

    @property
    def usual(self) -> str:
        """The value of a new crawl, in words; "": none."""
        if self.kind == "flag":
            return "yes" if self.default else "no"
        return str(self.default) if isinstance(self.default, str) else self.none

    @property
    def sentence(self) -> str:
        """The words of its help, with its choices: such as `Sitemaps to read: all (…), declared (…), none`."""
        said = [f"{value} ({means})" if means else value for value, means in self.choices.items()]
        last = self.other or (said.pop() if said else "")
        listed = f"{', '.join(said)}{',' if self.other else ''} or {last}" if said else last
        return f"{self.help}: {listed}" if listed else self.help


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """Limits at which a crawl ends, or goes no further. None: no limit."""

    max_pages: Annotated[
        int | None, Option(help="End a round after this many pages", least=1, most=10**15, none="none", lapses=True)
    ] = None
    max_bytes: Annotated[
        int | None,
        Option(
            help="End a round after this many body bytes on the wire", least=1, most=10**18, none="none", lapses=True
        ),
    ] = None
    max_depth: Annotated[
        int | None,
        Option(
            help="Follow at most this many links from a seed; 0: the seeds alone", most=10**9, none="none", lapses=True
        ),
    ] = None
    max_seconds: Annotated[
        float | None,
        Option(
            help="End after this many seconds since its last start", least=0.001, most=10**9, none="none", lapses=True
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CrawlWishes:
    """The options of a crawl but its budgets. Checked by `app.policy.crawl_spec`.

    profile   the name of a shipped profile, or a TOML text
    handlers  none: every handler that is loaded
    every_s   seconds from the beginning of a round to the next; 0: rounds are begun by hand
    """

    scope: Annotated[
        str,
        Option(
            help="How far the crawl reaches from its seeds",
            choices={
                "host": "the seeds' hosts",
                "domain": "their registrable domains",
                "prefix": "their folders",
                "any": "everything that is linked",
            },
            is_fixed=True,
        ),
    ] = "host"
    include: Annotated[
        tuple[str, ...],
        Option(help="A URL must match one of these, unless it is a seed", metavar="REGEX", is_fixed=True),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Option(help="A URL must match none of these", metavar="REGEX", is_fixed=True)
    ] = ()
    keep_fresh: Annotated[bool, Option(help="Do not end: fetch pages again when they are due", lapses=True)] = False
    every_s: Annotated[
        float,
        Option(
            help="Begin a round by itself so long after the last began (45m, 12h, 1d), once that has ended; none: no",
            name="every",
            metavar="1d|none",
            none="none",
        ),
    ] = 0.0
    sitemaps: Annotated[
        str,
        Option(
            help="Sitemaps to read",
            choices={
                "none": "",
                "declared": "those in robots.txt",
                "all": "also /sitemap.xml where it names none",
            },
        ),
    ] = "all"
    honour_opt_outs: Annotated[bool, Option(help="Keep no page whose owner opts out of text and data mining")] = False
    profile: Annotated[
        str,
        Option(
            help="What the crawl values",
            choices={"general": "", "docs": "", "news": "", "shop": "", "forum": ""},
            other="a TOML file (see `tiptoe profile`)",
            metavar="NAME|FILE",
        ),
    ] = "general"
    search: Annotated[bool, Option(help="Index the words of its pages, for search")] = False
    archive: Annotated[bool, Option(help="Keep answers with their bodies in the archive (WARC)")] = True
    keep_links: Annotated[bool, Option(help="Keep the links of each page as rows: from, to, anchor text, rel")] = False
    near_duplicates: Annotated[bool, Option(help="Compare its pages with each other, to find near duplicates")] = True
    render: Annotated[
        str,
        Option(
            help="Pages that a browser opens",
            choices={"auto": "those that are empty without JavaScript", "never": "none", "always": "all"},
        ),
    ] = "auto"
    handlers: Annotated[
        tuple[str, ...],
        Option(
            help="Handlers that get its pages; all: every loaded handler", metavar="NAME", none="all", flag="handler"
        ),
    ] = ()


class CrawlOptions(TypedDict, total=False):
    """Options of a crawl as keywords of `tiptoe.crawl`, for type checkers; a test compares them with the catalogue."""

    scope: str
    include: Sequence[str]
    exclude: Sequence[str]
    max_pages: int
    max_bytes: int
    max_depth: int
    max_seconds: float
    keep_fresh: bool
    every: str
    sitemaps: str
    honour_opt_outs: bool
    profile: str
    search: bool
    archive: bool
    keep_links: bool
    near_duplicates: bool
    render: str
    handlers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec(CrawlWishes):
    """All that a crawl is asked to be."""

    budgets: Budgets = field(default_factory=Budgets)

    @classmethod
    def from_columns(cls, row: Any) -> "CrawlSpec":
        """The spec in a row of `crawls`, which has an attribute for each option."""
        return CrawlChange(exact={column: _stored(option, row) for column, option in OPTIONS.items()}).of(cls())

    def columns(self) -> dict[str, Any]:
        """The values of its columns, by name; lists are lists, as the driver takes them."""
        values = {column: self.value(column) for column in OPTIONS}
        return {column: list(value) if isinstance(value, tuple) else value for column, value in values.items()}

    def value(self, column: str) -> Any:
        """The value of an option, a budget's too."""
        return getattr(self.budgets if column in _LIMITS else self, column)


@dataclass(frozen=True, slots=True, init=False)
class CrawlChange:
    """The options of a crawl that change, by column; the others stay. A budget that is None: no limit."""

    given: Mapping[str, Any]

    def __init__(self, *, exact: Mapping[str, Any] = _NOTHING, **wishes: Any) -> None:
        """exact: values that count where they are None, too; a wish that is None is not given"""
        given = {**{column: value for column, value in wishes.items() if value is not None}, **exact}
        if unknown := given.keys() - OPTIONS.keys():
            raise TypeError(f"no option of a crawl: {', '.join(sorted(unknown))}")
        object.__setattr__(self, "given", MappingProxyType(given))

    @property
    def is_empty(self) -> bool:
        return not self.given

    @property
    def words(self) -> str:
        """The change in one line, such as `scope=domain; max_pages=50`. A profile of one's own is named so."""
        ordered = sorted(self.given, key=lambda column: (column in _LIMITS, list(OPTIONS).index(column)))
        return "; ".join(f"{column}={_word(self.given[column])}" for column in ordered)

    def over(self, values: Mapping[str, Any]) -> "CrawlChange":
        """This change, and these values of options that it does not name."""
        return CrawlChange(exact={**values, **self.given})

    def without_fixed(self) -> "CrawlChange":
        """The part that changes a crawl that exists without an edit."""
        return CrawlChange(exact={name: value for name, value in self.given.items() if not OPTIONS[name].is_fixed})

    def of(self, spec: CrawlSpec) -> CrawlSpec:
        """The spec with this change."""
        limits = {column: value for column, value in self.given.items() if column in _LIMITS}
        wishes = {column: value for column, value in self.given.items() if column not in _LIMITS}
        return replace(spec, **wishes, budgets=replace(spec.budgets, **limits))


def _stored(option: Option, row: Any) -> Any:
    value = getattr(row, option.column)
    return tuple(value) if option.kind == "list" else value


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


def _options_of(record: type) -> dict[str, Option]:
    """The options in the annotations of a record, by column."""
    hints = get_type_hints(record, include_extras=True)
    found = {}
    for each in fields(record):
        of_type, option = get_args(hints[each.name])
        found[each.name] = replace(
            option,
            name=option.name or each.name,
            flag=option.flag or (option.name or each.name).replace("_", "-"),
            metavar=option.metavar or "|".join(option.choices) or "N",
            column=each.name,
            kind=_kind(of_type, option),
            default=each.default,
        )
    return found


def _kind(of_type: Any, option: Option) -> Kind:
    if of_type is str:
        return "profile" if option.other else "choice"
    if get_origin(of_type) is tuple:
        return "list"
    kinds: dict[Any, Kind] = {bool: "flag", float: "interval", int | None: "whole", float | None: "number"}
    return kinds[of_type]


_LIMITS: Final = _options_of(Budgets)
_WISHES: Final = _options_of(CrawlWishes)
OPTIONS: Final[Mapping[str, Option]] = {  # in the order in which faces show them: reach, limits, the rest
    **{column: _WISHES[column] for column in ("scope", "include", "exclude")},
    **_LIMITS,
    **_WISHES,
}
