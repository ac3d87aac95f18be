"""The options that say what is asked of a crawl, each declared once, and the `CrawlChange` that they come to.

`asked` is for `crawl run`, `seed add` and `seed import`, `edited` for `crawl edit`; `wished` is what they share. Typer
reads their parameters (`app.cli.gather`).
"""

from dataclasses import replace
from typing import Annotated

import typer

from app.cli.gather import gather
from app.model import CrawlChange

Scope = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="How far a new crawl reaches from its seeds: host, domain, prefix or any.",
        show_default="host",
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="A URL must match one of these, unless it is a seed (may be repeated)."),
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="REGEX", help="A URL must match none of these (may be repeated).")
]
MaxPages = Annotated[int | None, typer.Option(metavar="N", help="End after this many pages.")]
MaxBytes = Annotated[int | None, typer.Option(metavar="N", help="End after this many body bytes on the wire.")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", help="Follow at most this many links from a seed.")]
MaxSeconds = Annotated[float | None, typer.Option(metavar="N", help="End after this many seconds of running.")]
KeepFresh = Annotated[
    bool | None,
    typer.Option(
        "--keep-fresh/--no-keep-fresh",
        help="Do not end: fetch pages again when they are due.",
        show_default="no, or as before; of `crawl run`: no",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="1d|none",
        help="Begin a round by itself so long after the last began (45m, 12h, 1d, 2w), once that has ended; none: no.",
        show_default="none, or as before",
    ),
]
Sitemaps = Annotated[
    str | None,
    typer.Option(
        metavar="none|declared|all",
        help="Sitemaps to read: declared (those in robots.txt), all (also /sitemap.xml where it names none), or none.",
        show_default="all, or as before",
    ),
]
HonourOptOuts = Annotated[
    bool | None,
    typer.Option(
        "--honour-opt-outs/--no-honour-opt-outs",
        help="Keep no page whose owner opts out of text and data mining.",
        show_default="no, or as before",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="What the crawl values: general, docs, news, shop, forum, or a TOML file (see `tiptoe profile`).",
        show_default="general, or as before",
    ),
]
Search = Annotated[
    bool | None,
    typer.Option(
        "--search/--no-search",
        help="Index the words of its pages, for `tiptoe search`.",
        show_default="no, or as before",
    ),
]
KeptInArchive = Annotated[
    bool | None,
    typer.Option(
        "--archive/--no-archive",
        help="Keep answers with their bodies in the archive (WARC).",
        show_default="yes, or as before",
    ),
]
Handler = Annotated[
    list[str] | None,
    typer.Option(
        "--handler",
        metavar="NAME",
        help="Handler that gets its pages (may be repeated); all: every loaded handler.",
        show_default="all, or as before",
    ),
]
KeepLinks = Annotated[
    bool | None,
    typer.Option(
        "--keep-links/--no-keep-links",
        help="Keep the links of each page as rows: from, to, anchor text, rel.",
        show_default="no, or as before",
    ),
]
NearDuplicates = Annotated[
    bool | None,
    typer.Option(
        "--near-duplicates/--no-near-duplicates",
        help="Compare its pages with each other, to find near duplicates.",
        show_default="yes, or as before",
    ),
]
Render = Annotated[
    str | None,
    typer.Option(
        metavar="auto|never|always",
        help="Pages that a browser opens: auto (those that are empty without JavaScript), always (all), or never.",
        show_default="auto, or as before",
    ),
]

NewScope = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="KIND",
        help="How far the crawl reaches from its seeds: host, domain, prefix or any.",
        show_default="as before",
    ),
]
NewInclude = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="REGEX",
        help="A URL must match one of these; replaces the earlier patterns.",
        show_default="as before",
    ),
]
NewExclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="REGEX",
        help="A URL must match none of these; replaces the earlier patterns.",
        show_default="as before",
    ),
]
NoInclude = Annotated[bool, typer.Option("--no-include", help="Remove all --include patterns.")]
NoExclude = Annotated[bool, typer.Option("--no-exclude", help="Remove all --exclude patterns.")]
NewLimit = Annotated[
    str | None, typer.Option(metavar="N|none", help="As in `tiptoe crawl`; none: no limit.", show_default="as before")
]


def wished(
    keep_fresh: KeepFresh = None,
    every: Every = None,
    sitemaps: Sitemaps = None,
    honour_opt_outs: HonourOptOuts = None,
    profile: Profile = None,
    search: Search = None,
    archive: KeptInArchive = None,
    keep_links: KeepLinks = None,
    near_duplicates: NearDuplicates = None,
    render: Render = None,
    handler: Handler = None,
) -> CrawlChange:
    """The part that is said in the same words of a new crawl and of one that exists. Raises InputError."""
    return CrawlChange(
        keep_fresh=keep_fresh,
        every_s=_every_s(every),
        sitemaps=sitemaps,
        honour_opt_outs=honour_opt_outs,
        profile=_profile(profile),
        handlers=_handlers(handler),
        search=search,
        archive=archive,
        keep_links=keep_links,
        near_duplicates=near_duplicates,
        render=render,
    )


@gather(rest=wished)
def asked(
    scope: Scope = None,
    include: Include = None,
    exclude: Exclude = None,
    max_pages: MaxPages = None,
    max_bytes: MaxBytes = None,
    max_depth: MaxDepth = None,
    max_seconds: MaxSeconds = None,
    *,
    rest: CrawlChange,
) -> CrawlChange:
    """With seeds, of a crawl that may be new."""
    limits = {"max_pages": max_pages, "max_bytes": max_bytes, "max_depth": max_depth, "max_seconds": max_seconds}
    return replace(
        rest,
        scope=scope,
        include=tuple(include) if include else None,
        exclude=tuple(exclude) if exclude else None,
        budgets={name: limit for name, limit in limits.items() if limit is not None},
    )


@gather(rest=wished)
def edited(
    scope: NewScope = None,
    include: NewInclude = None,
    exclude: NewExclude = None,
    no_include: NoInclude = False,
    no_exclude: NoExclude = False,
    max_pages: NewLimit = None,
    max_bytes: NewLimit = None,
    max_depth: NewLimit = None,
    max_seconds: NewLimit = None,
    *,
    rest: CrawlChange,
) -> CrawlChange:
    """The change of a crawl that exists.

    Raises InputError for a limit that is none, and for options that exclude each other.
    """
    limits = {"max_pages": max_pages, "max_bytes": max_bytes, "max_depth": max_depth, "max_seconds": max_seconds}
    return replace(
        rest,
        scope=scope,
        include=_patterns("include", include, no_include),
        exclude=_patterns("exclude", exclude, no_exclude),
        budgets={name: _limit(name, text) for name, text in limits.items() if text is not None},
    )


def _every_s(text: str | None) -> float | None:
    """Seconds between two rounds. Raises InputError."""
    if text is None:
        return None
    from app.policy.moment import interval_s

    return interval_s(text, option="--every")


def _profile(text: str | None) -> str | None:
    """The name of a shipped profile, or what a file says. Raises InputError."""
    if text is None:
        return None
    from app.admin.profiles import wish_of

    return wish_of(text)


def _handlers(given: list[str] | None) -> tuple[str, ...] | None:
    """The names; () for all of them, None as before."""
    return None if not given else () if given == ["all"] else tuple(dict.fromkeys(given))


def _patterns(what: str, given: list[str] | None, none: bool) -> tuple[str, ...] | None:
    """The new patterns; None leaves them as they are. Raises InputError for both options at once."""
    from app.errors import InputError

    if given and none:
        raise InputError(f"--{what} and --no-{what}", "exclude each other; choose one")
    return () if none else tuple(given) if given else None


def _limit(name: str, text: str) -> float | None:
    """A number, or none for no limit. Raises InputError."""
    from app.errors import InputError

    try:
        return None if text == "none" else float(text) if name == "max_seconds" else int(text)
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise InputError(f"{option} {text!r}", "is not a limit; write a number, or none for no limit") from None
