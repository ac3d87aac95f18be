"""The pages of orders: a form that says what will happen, the order, and what became of it.

The forms that make and change a crawl, and give it seeds, are here; its other orders are in `app.admin.orders`.
"""

import contextlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.admin import crawls, edit, seeds
from app.admin.act import Act, Desk, Fields, FormField, OrderEnd, Values
from app.admin.board import lists
from app.admin.operators import Order, noted
from app.admin.options import read
from app.admin.orders import CATALOGUE
from app.errors import InputError, TiptoeError
from app.model import CrawlChange, CrawlSpec, RequestKind, Url
from app.model.crawl import OPTIONS, Option
from app.policy.focus.profile_text import NAMES
from app.policy.moment import NO_INTERVAL, interval_text
from app.store.operator_log import OperatorOrder
from app.web.board import Board, board_of, viewer_of
from app.web.render import address, page
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

FORMS = (
    Act(
        key="crawl.make",
        title="New crawl",
        says="A crawl begins at these URLs as soon as a worker is free. It asks for robots.txt first, sends one "
        "request at a time to a host, and keeps the host's delay.",
        do=_make,
        leads="crawl",
        asks=(
            FormField(name="subject", label="Name", none="the first seed's host"),
            FormField(
                name="seeds",
                label="URLs to start from, one per line",
                kind="lines",
                hint="https://example.org/",
                is_needed=True,
            ),
            *_SPEC,
        ),
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
        asks=(
            FormField(name="seeds", label="URLs, one per line", kind="lines", is_needed=True),
            FormField(name="sitemap", label="They are sitemaps or feeds, whose pages are the seeds", kind="check"),
        ),
    ),
)


_log = structlog.get_logger()
ACTS = {act.key: act for act in (*FORMS, *CATALOGUE)}
_NOT_IN = {  # state of a crawl or host → acts that make no sense there
    "active": {"crawl.resume", "crawl.start"},
    "paused": {"crawl.pause", "host.pause", "crawl.start"},
    "finished": {"crawl.pause", "crawl.resume", "crawl.finish"},
    "idle": {"host.resume"},
    "offered": {"host.resume"},
    "taken": {"host.resume"},
}

_CAN = [  # what an empty log will list: (of what, the acts, where they are ordered)
    (leads, [act for act in ACTS.values() if act.leads == leads], to, name)
    for leads, to, name in (("crawl", "/crawls", "Crawls"), ("host", "/hosts", "Hosts"), ("url", "/url", "A URL"))
]
WAS = "was: "  # in the detail of an order: the fields that undo it, as a query
_SUBJECT = {"crawl": "name", "host": "name", "url": "u"}
_COMMAND = re.compile(  # one that an act does too; its subject is quoted for the shell
    r"tiptoe (?P<leads>url|host|crawl) (?P<verb>retry|resume|start|edit)"
    r" (?P<subject>'(?:[^']|'\"'\"')*'|[\w@%+=:,./-]+)"
    r"(?: --(?P<option>force|again)| --[a-z-]+ N)?"
)


def acts_on(leads: str, state: str) -> Sequence[Act]:
    """Acts that can be ordered of a crawl, host or URL in this state."""
    found = [act for act in ACTS.values() if act.leads == leads and act.key != "crawl.make"]
    return [act for act in found if act.key not in _NOT_IN.get(state, set())]


def acts_in(line: str) -> Sequence[tuple[str, str]]:
    """Parts of a sentence: (words, the act's form), where it tells a command that an act does; else (words, "")."""
    parts, at = [], 0
    for told in _COMMAND.finditer(line):
        act = ACTS.get(f"{told['leads']}.{told['verb']}")
        if act is not None:
            option = {told["option"]: "on"} if told["option"] else {}
            subject = "".join(shlex.split(told["subject"]))
            form = address(f"/act/{act.key}", subject=subject, **option)
            parts += [(line[at : told.start()], ""), (act.title.lower(), form)]
            at = told.end()
    return [*parts, (line[at:], "")]


def ask(request: Request) -> Response:
    """The form of an act, with what will happen."""
    act, subject = _act(request), request.query_params.get("subject", "")
    board = board_of(request)
    given = {name: value for name, value in request.query_params.items() if name != "subject"}
    values = {**act.fills(board, subject), **given}
    return _form(request, act, subject, values)


def give(request: Request) -> Response:
    """Carry an act out, and lead to its subject's page; or show the form again with what is wrong."""
    act, board = _act(request), board_of(request)
    fields: Fields = request.scope["form"]
    subject = fields.get("subject", "").strip()
    if act.key == "crawl.make":
        subject = subject or name_of(board, fields)
    order = Order(
        who=_who(request), face="web", act=act.key, subject=subject, detail=_detail(board, act, subject, fields)
    )
    if act.loses is not None and fields.get("name", "").strip() != subject:
        return _form(request, act, subject, fields, f"type {subject} to {act.verb} it", 400)
    if act.is_slow:
        return RedirectResponse("/orders", 303, background=BackgroundTask(_later, board, act, order, fields))
    try:
        with noted(board.engine, order) as note:
            note.outcome = act.do(board, subject, fields).outcome
    except InputError as error:
        if AS_OF in fields:
            fields = {**fields, AS_OF: act.fills(board, subject).get(AS_OF, "")}  # sent again, it is meant
        return _form(request, act, subject, fields, str(error), 400)
    return RedirectResponse(address(f"/{act.leads}", **{_SUBJECT[act.leads]: subject}, order=note.id), 303)


def show_log(request: Request) -> Response:
    """The log of orders."""
    query = request.query_params
    found = lists.orders(board_of(request).engine, subject=query.get("subject") or None, after=query.get("after", ""))
    return page(
        request,
        "orders.html",
        orders=found,
        subject=query.get("subject"),
        most=lists.PAGE,
        leads=leads,
        undo_of=undo_of,
        can=_CAN,
    )


def order_of(request: Request) -> tuple[OperatorOrder, str | None] | None:
    """The order that led to this page, and the address that undoes it; None: none did."""
    id = request.query_params.get("order", "")
    if not (id.isascii() and id.isdecimal() and len(id) < 18):
        return None
    found = lists.orders(board_of(request).engine, after=str(int(id) + 1), n=1)
    return (found[0], undo_of(found[0])) if found and found[0].id == int(id) else None


def undo_of(order: OperatorOrder) -> str | None:
    """The address of the form that undoes an order; None: there is none."""
    act = ACTS.get(order.act)
    if act is None or order.failed or order.ended_at is None:
        return None
    if act.undo is not None:
        key, values = act.undo
        return address(f"/act/{key}", subject=order.subject, **values)
    _, was, before = (order.detail or "").rpartition(WAS)  # orders of a command have none
    return f"{address(f'/act/{act.key}', subject=order.subject)}&{before}" if act.was is not None and was else None


def leads(order: OperatorOrder) -> str | None:
    """The page of an order's subject; commands have acts that no form here has."""
    page_of, _, _ = order.act.partition(".")
    if page_of not in _SUBJECT or not order.subject or order.act == "crawl.delete":
        return None
    return address(f"/{page_of}", **{_SUBJECT[page_of]: order.subject})


def _act(request: Request) -> Act:
    found = ACTS.get(request.path_params["key"])
    if found is None:
        raise InputError(request.path_params["key"], "is not an act; go back, and choose a button")
    return found


def _form(
    request: Request, act: Act, subject: str, values: Fields, wrong: str | None = None, status: int = 200
) -> Response:
    settings = board_of(request).settings
    asks = [replace(each, options=each.options_of(settings)) if each.options_of else each for each in act.asks]
    if act.loses is not None:
        asks.append(FormField(name="name", label=f"Type the {act.leads}'s name, {subject}", is_needed=True))
    says = act.sentence(subject)
    back = address(f"/{act.leads}", **{_SUBJECT[act.leads]: subject}) if subject else "/"
    context = {"act": act, "subject": subject, "asks": asks, "values": values, "says": says, "back": back}
    return page(request, "act.html", status=status, wrong=wrong, **context)


def _who(request: Request) -> str:
    return viewer_of(request).name or "nobody"


def _detail(board: Board, act: Act, subject: str, fields: Fields) -> str | None:
    """The fields that were filled, for the log; and what they would have to be to undo it."""
    given = act.detail({name: value for name, value in fields.items() if name not in {"subject", AS_OF}})
    with contextlib.suppress(InputError):  # a subject that is not there: the act itself says so
        given += [WAS + urlencode(act.was(board, subject, fields))] if act.was is not None else []
    return "; ".join(given) or None


def _later(board: Board, act: Act, order: Order, fields: Fields) -> None:
    """Carry out what takes long, after the answer. What went wrong is in the log of orders."""
    try:
        with noted(board.engine, order) as note:
            note.outcome = act.do(board, order.subject, fields).outcome
    except TiptoeError as error:
        _log.warning("web.order_failed", act=order.act, subject=order.subject, error=str(error))
