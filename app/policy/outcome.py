"""Classifies a reply as one of the closed set of endings of a fetch (promise P8).

It does not decide the URL's next state: `lifecycle` does.
"""

from http import HTTPStatus

from app.model import Failure, Header, Outcome, Reply
from app.policy import media_type

_BY_STATUS: dict[int, Outcome] = {
    HTTPStatus.UNAUTHORIZED: Outcome.UNAUTHORISED,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: Outcome.UNAUTHORISED,
    HTTPStatus.PAYMENT_REQUIRED: Outcome.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN: Outcome.FORBIDDEN,
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS: Outcome.FORBIDDEN,
    HTTPStatus.NOT_FOUND: Outcome.NOT_FOUND,
    HTTPStatus.GONE: Outcome.GONE,
    HTTPStatus.TOO_MANY_REQUESTS: Outcome.RATE_LIMITED,
    HTTPStatus.SERVICE_UNAVAILABLE: Outcome.UNAVAILABLE,
}
_HOST_TROUBLE = frozenset({Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE})
# The connection or the moment is to blame, and a second request may be answered: RFC 9110 sections 15.5.9 and 15.5.20,
# RFC 8470 section 5.2.
TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.TOO_EARLY})
_TYPE_SHOWN = 100  # characters of a media type
_NO_DOCUMENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT})
# 305 and 306 are deprecated: their Location is a proxy (RFC 9110 sections 15.4.6 and 15.4.7).
_NO_REDIRECT = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.USE_PROXY, 306})


def classify(reply: Reply, *, conditional: bool, of_page: bool = False) -> Outcome:
    """The ending of a fetch. conditional: the request carried a validator (ETag or Last-Modified). of_page: for a page,
    an empty body is none.

    Total: every status and failure has an outcome. `url` decides whether a Location can be followed; here only a blank
    one counts as missing.
    """
    status = reply.status
    if reply.failure is not None and not reply.is_told:  # browsers wait for no body of a redirect
        return _failed(reply.failure)
    if status is None or status < 100:
        return Outcome.BROKEN
    if status < 300:
        return Outcome.UNWANTED if of_page and is_empty(reply) else _succeeded(reply, status)
    if status < 400:
        return _redirected(reply, status, conditional)
    # Beyond 599 is invalid and counts as 5xx (RFC 9110 section 15).
    return _BY_STATUS.get(status, Outcome.CLIENT_ERROR if status < 500 else Outcome.SERVER_ERROR)


def is_empty(reply: Reply) -> bool:
    """Whether it is a 2xx whose body came whole, and holds nothing but white space."""
    if reply.sunk_bytes or (reply.body and not reply.body.isspace()):  # nearly all
        return False
    is_good = reply.status is not None and 200 <= reply.status < 300 and reply.status != HTTPStatus.PARTIAL_CONTENT
    is_whole = reply.failure is None and reply.body_read and not reply.truncated
    return is_good and is_whole and reply.header("refresh") is None  # which leads on, as a link does


def is_no_news(reply: Reply, outcome: Outcome) -> bool:
    """Whether an answer to a conditional request tells nothing of the document: only a 304 or a full 2xx does.

    Broken servers answer validators with an empty 200, a part, a 400 or a 412. What tells that the document is missing,
    moved, forbidden or out of reach is news.
    """
    is_bare_part = reply.failure is None and reply.is_part
    return is_empty(reply) or is_bare_part or (outcome is Outcome.CLIENT_ERROR and reply.status not in TRANSIENT)


def why_unwanted(reply: Reply) -> str:
    """Reason why a 2xx is unwanted, for a person: `application/pdf is not read`."""
    if reply.body_read:
        return "it has no body"
    named = media_type.declared(reply.header(Header.CONTENT_TYPE))[:_TYPE_SHOWN]
    return f"{named or 'what names no media type, and looks like neither a page nor a text,'} is not read"


def is_host_trouble(outcome: Outcome) -> bool:
    """Whether the host rests, while the URL stays queued and keeps its attempts (promise P8)."""
    return outcome in _HOST_TROUBLE


def _failed(failure: Failure) -> Outcome:
    if failure is Failure.ADDRESS:
        return Outcome.BLOCKED_ADDRESS
    return Outcome.UNREACHABLE if failure.before_contact else Outcome.BROKEN


def _succeeded(reply: Reply, status: int) -> Outcome:
    if status < 200:
        return Outcome.CLIENT_ERROR
    if reply.is_part:  # we never ask for a range: a part must not pass for the whole
        return Outcome.BROKEN
    return Outcome.PAGE if reply.body_read and status not in _NO_DOCUMENT else Outcome.UNWANTED


def _redirected(reply: Reply, status: int, conditional: bool) -> Outcome:
    if status == HTTPStatus.NOT_MODIFIED and conditional:
        return Outcome.UNCHANGED
    location = (reply.header(Header.LOCATION) or "").strip()
    return Outcome.REDIRECT if location and status not in _NO_REDIRECT else Outcome.CLIENT_ERROR
