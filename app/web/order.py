"""The pages of orders: a form that says what will happen, the order, and what became of it."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.admin import operators
from app.admin.act import Act, Fields, FormField
from app.admin.board import lists
from app.admin.operators import Order
from app.admin.orders import CATALOGUE
from app.errors import InputError, TiptoeError
from app.store.operator_log import OperatorOrder
from app.web import crawl_forms
from app.web.board import Board, board_of, viewer_of
from app.web.crawl_forms import AS_OF
from app.web.render import address, page

_log = structlog.get_logger()
ACTS = {act.key: act for act in (*crawl_forms.ACTS, *CATALOGUE)}
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
        subject = subject or crawl_forms.name_of(board, fields)
    order = Order(
        who=_who(request), face="web", act=act.key, subject=subject, detail=_detail(board, act, subject, fields)
    )
    if act.loses is not None and fields.get("name", "").strip() != subject:
        return _form(request, act, subject, fields, f"type {subject} to {act.verb} it", 400)
    if act.is_slow:
        return RedirectResponse("/orders", 303, background=BackgroundTask(_later, board, act, order, fields))
    try:
        with operators.noted(board.engine, order) as note:
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
        with operators.noted(board.engine, order) as note:
            note.outcome = act.do(board, order.subject, fields).outcome
    except TiptoeError as error:
        _log.warning("web.order_failed", act=order.act, subject=order.subject, error=str(error))
