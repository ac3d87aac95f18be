"""The request headers of a page's scripts that are sent, and the form of its requests. Pure.

A list of names, each with its reason. Whatever says who asks (User-Agent, From, Signature, Cookie, Authorization), from
where (Origin, Referer) or for whom (keys and tokens) is not on it, and so is never sent; our own identity is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from app.browser.values import ResourceKind, SubRequest

VALUE_CHARS_MOST: Final = 200
# lower-case name → as it is sent
_SENT: Final[Mapping[str, str]] = {
    "accept": "Accept",  # the form that the script can read: JSON, where the default would be a page
    "x-requested-with": "X-Requested-With",  # jQuery and others: servers answer with data, not with a page
    "rsc": "RSC",  # Next.js: a page as data for its components
    "x-inertia": "X-Inertia",  # Inertia: a page as JSON
    "x-inertia-version": "X-Inertia-Version",  # of the scripts that the page came with; another is answered 409
    "x-pjax": "X-PJAX",  # a page without its frame
    "turbo-frame": "Turbo-Frame",  # Hotwire: one frame of a page
    "hx-request": "HX-Request",  # htmx: a fragment of a page
}
_OF_A_BODY: Final[Mapping[str, str]] = {"content-type": "Content-Type"}  # of a POST that a profile allows
NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The form of a request.   fields: beside our own;   content: of a POST;   authorised: as in Request"""

    method: str = "GET"
    fields: Mapping[str, str] = field(default_factory=lambda: NONE)
    content: bytes = b""
    authorised: bool = False


GET: Final = Asking()


def asking(asked: SubRequest, *, authorised: bool = False) -> Asking:
    """The request as it is sent. Headers are a script's own where it fetches; elsewhere they are the browser's."""
    if asked.resource is not ResourceKind.FETCH:
        return Asking(method=asked.method, authorised=authorised)
    is_post = asked.method == "POST"
    names = {**_SENT, **_OF_A_BODY} if is_post else _SENT
    fields = {names[name]: value for name, value in asked.headers.items() if name in names and _is_plain(value)}
    content = asked.body if is_post else b""
    return Asking(method=asked.method, fields=fields, content=content, authorised=authorised)


def _is_plain(value: str) -> bool:
    """Whether it is short, and visible ASCII with blanks: nothing that could end a line, or carry much."""
    return 0 < len(value) <= VALUE_CHARS_MOST and value.isascii() and value.isprintable()
