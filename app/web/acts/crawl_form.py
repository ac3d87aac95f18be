"""The form of a crawl: its fields, from a specification to values, and back to a change."""

from collections.abc import Sequence
from dataclasses import fields as fields_of
from hashlib import sha256

from app.model import Budgets, CrawlChange, CrawlSpec
from app.policy.focus.shipped import NAMES
from app.policy.moment import NO_INTERVAL, interval_s, interval_text
from app.web.acts.act import Fields, FormField, Values, lines, number, text, whole
from app.web.board import Board

AS_OF = "as_of"
OWN = "own"  # a profile that is a text, which no form changes
_CHECKS = ("keep_fresh", "honour_opt_outs", "search", "archive", "keep_links", "near_duplicates")
_SCOPES = (
    ("host", "the seeds' hosts"),
    ("domain", "their registrable domains"),
    ("prefix", "their folders"),
    ("any", "everything that is linked"),
)
_SITEMAPS = (
    ("all", "those of robots.txt, and /sitemap.xml where it names none"),
    ("declared", "those of robots.txt"),
    ("none", "none"),
)

_RENDER = (
    ("auto", "those that are empty without JavaScript"),
    ("never", "none"),
    ("always", "all"),
)


def edit_fields(_: Board, __: str) -> Sequence[FormField]:
    """The fields of a crawl that exists, and a mark of what the form showed."""
    return (FormField(name=AS_OF, label="", kind="hidden"), *_spec_fields())


def mark_of(spec: CrawlSpec) -> str:
    """A mark that differs where another value of the form does."""
    return sha256(repr(sorted(values_of(spec).items())).encode()).hexdigest()[:16]


def _spec_fields() -> Sequence[FormField]:
    profiles = [*((name, name) for name in NAMES), (OWN, "as it is")]
    return (
        FormField(name="scope", label="Scope", kind="choice", options=_SCOPES),
        FormField(name="max_pages", label="Most pages", hint="Empty: no limit"),
        FormField(name="max_depth", label="Max depth", hint="Links from a seed; empty: no limit; 0: the seeds alone"),
        FormField(name="max_bytes", label="Most bytes", hint="Empty: no limit"),
        FormField(name="max_seconds", label="Most seconds", hint="Empty: no limit"),
        FormField(name="include", label="Only URLs that match one of these", kind="lines", hint="Regular expressions"),
        FormField(name="exclude", label="No URL that matches one of these", kind="lines", hint="Regular expressions"),
        FormField(name="sitemaps", label="Sitemaps", kind="choice", options=_SITEMAPS),
        FormField(name="render", label="Pages that a browser opens", kind="choice", options=_RENDER),
        FormField(name="profile", label="Profile", kind="choice", options=profiles),
        FormField(name="keep_fresh", label="Do not end: fetch pages again when they are due", kind="check"),
        FormField(name="every", label="Begin a round by itself every", hint="1d, 12h, 2w; none: by hand"),
        FormField(name="search", label="Index the words of its pages, for search", kind="check"),
        FormField(name="archive", label="Keep answers with their bodies in the archive", kind="check"),
        FormField(name="honour_opt_outs", label="Keep no page whose owner opts out of data mining", kind="check"),
        FormField(name="near_duplicates", label="Find pages that say nearly the same", kind="check"),
        FormField(name="keep_links", label="Keep the links of each page as rows", kind="check"),
    )


def make_fields(_: Board, __: str) -> Sequence[FormField]:
    """The fields of a new crawl."""
    return (
        FormField(name="subject", label="Name", hint="Empty: the first seed's host"),
        FormField(
            name="seeds",
            label="URLs to start from, one per line",
            kind="lines",
            hint="https://example.org/",
            is_needed=True,
        ),
        *_spec_fields(),
    )


def values_of(spec: CrawlSpec) -> Values:
    """The values that the form shows for a specification."""
    budgets = {budget.name: _shown(getattr(spec.budgets, budget.name)) for budget in fields_of(Budgets)}
    return {
        "scope": spec.scope,
        "include": "\n".join(spec.include),
        "exclude": "\n".join(spec.exclude),
        "sitemaps": spec.sitemaps,
        "render": spec.render,
        "every": interval_text(spec.every_s),
        "profile": spec.profile if spec.profile in NAMES else OWN,
        **{name: "on" if getattr(spec, name) else "" for name in _CHECKS},
        **budgets,
    }


def change_of(fields: Fields) -> CrawlChange:
    """The change that a form asks for: all of it, as the form shows all. Raises InputError for no number."""
    profile = text(fields, "profile")
    return CrawlChange(
        scope=text(fields, "scope"),
        include=lines(fields, "include"),
        exclude=lines(fields, "exclude"),
        budgets={
            "max_pages": whole(fields, "max_pages"),
            "max_bytes": whole(fields, "max_bytes"),
            "max_depth": whole(fields, "max_depth"),
            "max_seconds": number(fields, "max_seconds"),
        },
        sitemaps=text(fields, "sitemaps"),
        render=text(fields, "render"),
        every_s=interval_s(fields.get("every") or NO_INTERVAL, option="every"),
        profile=profile if profile in NAMES else None,
        keep_fresh=bool(fields.get("keep_fresh")),
        honour_opt_outs=bool(fields.get("honour_opt_outs")),
        search=bool(fields.get("search")),
        archive=bool(fields.get("archive")),
        keep_links=bool(fields.get("keep_links")),
        near_duplicates=bool(fields.get("near_duplicates")),
    )


def _shown(limit: float | None) -> str:
    return "" if limit is None else f"{limit:g}" if isinstance(limit, float) else str(limit)
