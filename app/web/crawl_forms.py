"""The forms of a crawl: made anew, changed, given seeds. Its other orders are in `app.admin.orders`."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from app.admin import crawls, edit, seeds
from app.admin.act import Act, Desk, Fields, FormField, OrderEnd, Values
from app.admin.options import read
from app.errors import InputError
from app.model import CrawlChange, CrawlSpec, RequestKind, Url
from app.model.crawl import OPTIONS, Option
from app.policy.focus.shipped import NAMES
from app.policy.moment import NO_INTERVAL, interval_text
from app.words import counted

AS_OF = "as_of"
OWN = "own"  # a profile that is a text, which no form changes
_KEPT = object()  # a value that a form leaves as it is


def mark_of(spec: CrawlSpec) -> str:
    """A mark that differs where another value of the form does."""
    return sha256(repr(sorted(values_of(spec).items())).encode()).hexdigest()[:16]


def _field(option: Option) -> FormField:
    title = option.title.capitalize()
    match option.kind:
        case "flag":
            return FormField(name=option.name, label=option.sentence, kind="check")
        case "choice" | "profile":
            choices = [(value, means or value) for value, means in option.choices.items()]
            own = [(OWN, "as it is")] if option.kind == "profile" else []
            return FormField(name=option.name, label=title, kind="choice", hint=option.help, options=[*choices, *own])
        case "list":
            return FormField(name=option.name, label=title, kind="lines", hint=f"{option.sentence}; one per line")
        case "interval":
            return FormField(name=option.name, label=title, hint=option.sentence)
        case _:
            return FormField(name=option.name, label=title, hint=f"{option.sentence}; empty: no limit")


def values_of(spec: CrawlSpec) -> Values:
    """The values that the form shows for a specification."""
    return {option.name: _shown(option, spec.value(column)) for column, option in OPTIONS.items()}


def change_of(fields: Fields) -> CrawlChange:
    """The change that a form asks for: all of it, as the form shows all. Raises InputError for no number."""
    values = {column: _read(option, fields) for column, option in OPTIONS.items()}
    return CrawlChange(exact={column: value for column, value in values.items() if value is not _KEPT})


def _read(option: Option, fields: Fields) -> Any:
    name = option.name
    match option.kind:
        case "flag":
            return bool(fields.get(name))
        case "whole":
            return whole(fields, name)
        case "number":
            return number(fields, name)
        case "list":
            return read(option, lines(fields, name), called=name)
        case "interval":
            return read(option, fields.get(name) or NO_INTERVAL, called=name)
        case "profile":
            profile = text(fields, name)
            return profile if profile in NAMES else _KEPT
        case _:
            return text(fields, name) or _KEPT


def _shown(option: Option, value: Any) -> str:
    match option.kind:
        case "flag":
            return "on" if value else ""
        case "list":
            return "\n".join(value)
        case "interval":
            return interval_text(value)
        case "profile":
            return value if value in NAMES else OWN
        case _:
            return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def name_of(desk: Desk, fields: Fields) -> str:
    """The name of a new crawl that was given none: the host of its first seed."""
    found = seeds.read(desk.settings, lines(fields, "seeds"))
    return found.urls[0].host if found.urls else ""


def _seeds_in(desk: Desk, fields: Fields) -> tuple[Sequence[Url], Sequence[str]]:
    """The seeds of a form, and what may be wrong with them. Raises InputError for none."""
    found = seeds.read(desk.settings, lines(fields, "seeds"))
    if not found.urls:
        why = found.bad[0].why if found.bad else "write one URL per line, such as https://example.org/"
        raise InputError("the seeds", why)
    return found.urls, seeds.check(desk.settings, found)


def _make(desk: Desk, subject: str, fields: Fields) -> OrderEnd:
    urls, warnings = _seeds_in(desk, fields)
    spec = change_of(fields).of(CrawlSpec())
    crawl = crawls.create(desk.engine, subject, spec)
    added = seeds.add_urls(desk.engine, desk.settings, crawl, urls)
    return OrderEnd(says="; ".join([f"made with {counted(added.added, 'seed')}", *warnings]))


def _add_seeds(desk: Desk, subject: str, fields: Fields) -> OrderEnd:
    crawl = crawls.find(desk.engine, subject)
    urls, warnings = _seeds_in(desk, fields)
    kind = RequestKind.SITEMAP if fields.get("sitemap") else RequestKind.PAGE
    added = seeds.add_urls(desk.engine, desk.settings, crawl, urls, kind=kind)
    return OrderEnd(says="; ".join([f"{counted(added.added, 'seed')} added, {added.known:,} known already", *warnings]))


def _edit(desk: Desk, subject: str, fields: Fields) -> OrderEnd:
    shown = text(fields, AS_OF)
    if shown is not None and shown != mark_of(crawls.find(desk.engine, subject).spec):
        raise InputError(subject, "was changed since this form was opened; look at it, or send again to overwrite it")
    crawl = edit.edit(desk.engine, desk.settings, subject, change_of(fields))
    return OrderEnd(says=f"changed; it is {crawl.state}")


def _now(desk: Desk, subject: str) -> Values:
    spec = crawls.find(desk.engine, subject).spec
    return {**values_of(spec), AS_OF: mark_of(spec)}


def text(fields: Fields, name: str) -> str | None:
    """A field without white space around it; None: it is empty."""
    return fields.get(name, "").strip() or None


def number(fields: Fields, name: str) -> float | None:
    """A number; None: the field is empty. Raises InputError."""
    given = text(fields, name)
    try:
        return None if given is None else float(given)
    except ValueError:
        raise InputError(f"{name} {given!r}", "is not a number; write digits, or leave it empty") from None


def whole(fields: Fields, name: str) -> int | None:
    """A whole number; None: the field is empty. Raises InputError."""
    given = text(fields, name)
    try:
        return None if given is None else int(given)
    except ValueError:
        raise InputError(f"{name} {given!r}", "is not a whole number; write digits, or leave it empty") from None


def lines(fields: Fields, name: str) -> tuple[str, ...]:
    """The lines of a field that hold something."""
    return tuple(line.strip() for line in fields.get(name, "").splitlines() if line.strip())


_SPEC = [_field(option) for option in OPTIONS.values()]
_NAME = FormField(name="subject", label="Name", none="the first seed's host")
_SEEDS = FormField(
    name="seeds", label="URLs to start from, one per line", kind="lines", hint="https://example.org/", is_needed=True
)
_MORE_SEEDS = FormField(name="seeds", label="URLs, one per line", kind="lines", is_needed=True)
_AS_SITEMAPS = FormField(name="sitemap", label="They are sitemaps or feeds, whose pages are the seeds", kind="check")

ACTS = (
    Act(
        key="crawl.make",
        title="New crawl",
        says="A crawl begins at these URLs as soon as a worker is free. It asks for robots.txt first, sends one "
        "request at a time to a host, and keeps the host's delay.",
        do=_make,
        leads="crawl",
        asks=(_NAME, _SEEDS, *_SPEC),
        fills=lambda desk, subject: values_of(CrawlSpec()),
    ),
    Act(
        key="crawl.edit",
        title="Edit",
        says="{subject} changes to this. Queued URLs are judged again before they are fetched; nothing that was "
        "fetched is lost.",
        do=_edit,
        leads="crawl",
        asks=(FormField(name=AS_OF, label="", kind="hidden"), *_SPEC),
        fills=_now,
    ),
    Act(
        key="crawl.seeds",
        title="Add seeds",
        says="{subject} starts from these URLs too, and its scope grows to hold them. A finished crawl becomes active.",
        do=_add_seeds,
        leads="crawl",
        asks=(_MORE_SEEDS, _AS_SITEMAPS),
    ),
)
