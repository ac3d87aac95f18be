"""Endings of a rendering, and reasons why a request of its page was refused, as closed types.

The evidence that a page needs a browser: mostly that it is an app shell, which `app.parse.html.shell` finds.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class RenderRefusal(StrEnum):
    """Why a request that a page made was not sent. The first group is decided by its kind alone, nobody is asked."""

    TYPE = "type"  # images, fonts and media: no text comes of them
    WEBSOCKET = "websocket"  # WebRTC too: a road of its own, past every request
    BEACON = "beacon"  # pings, beacons and reports
    PREFETCH = "prefetch"
    PRECONNECT = "preconnect"  # and DNS prefetches: the kernel denies them, the document and its headers name them
    SERVICE_WORKER = "service worker"
    POPUP = "popup"  # a window that a script opened
    DOWNLOAD = "download"
    SCHEME = "scheme"  # file:, chrome: and the like

    SCOPE = "scope"
    ROBOTS = "robots"
    TOO_COSTLY = "too_costly"  # to judge by its robots.txt, whose patterns take too much work
    ADDRESS = "address"
    PORT = "port"
    METHOD = "method"
    TRACKER = "tracker"
    CREDENTIALS = "credentials"  # a preflight of another origin to one that the operator has credentials for

    REQUESTS = "requests"  # a bound of the page, as the next two
    BYTES = "bytes"
    TIME = "time"
    BUDGET = "budget"  # the host's turn would come too late
    OFFLINE = "offline"  # a picture of what is kept: no request is sent for it
    FAILED = "failed"  # it was sent, or tried, and brought nothing


class RenderEnding(StrEnum):
    """Why a rendering ended. Its document is there in every case, as it stood then."""

    QUIET = "quiet"  # network and document were at rest
    DEADLINE = "deadline"
    REQUESTS = "requests"  # it asked for more than it may, and came to rest without them
    BYTES = "bytes"
    DOM = "dom"  # the document was larger than it may be: it is cut
    NAVIGATED = "navigated"  # a script, or a meta refresh, wanted another document: it was not followed


class ShellSign(StrEnum):
    """A kind of evidence: the keys of `pages.needs_script` and of `renders.evidence`.

    The first four show a shell, each with scripts of its own.
    The others say more of it. Each value is a detail in our own words; none of the page's words is in it.
    """

    EMPTY_ROOT = "empty_root"  # the element that scripts fill, such as #root
    EMPTY_BODY = "empty_body"  # nothing is shown at all
    TEMPLATE = "template"  # its elements are repeated for data that only its scripts have
    NOSCRIPT = "noscript"  # it asks for JavaScript
    SCRIPTS = "scripts"  # how many of its own
    TEXT = "text"  # characters that are there without them
    PATTERN = "pattern"  # of a page that looks plain: what a browser gained on others of its pattern
    DATA = "data"  # well-formed JSON in the page that holds prose: where, and how many characters
    ARTICLE = "article"  # its data has the article as JSON-LD: its text is taken from there, and no browser is needed
    STATE = "state"  # data for the scripts in which no prose was found, or that is not JSON: where
    ROUTES = "routes"  # of its document: links to "#/…" or "#!…", which are pages of the site and no URLs of ours


Evidence = Mapping[ShellSign, str]
_LINES: Final = (
    {
        ShellSign.EMPTY_ROOT: "{} is empty",
        ShellSign.EMPTY_BODY: "the body is empty",
        ShellSign.TEMPLATE: "its text is a template",
        ShellSign.NOSCRIPT: "a noscript asks for JavaScript",
    },
    {ShellSign.PATTERN: "a browser gained {} of its pattern"},
    {ShellSign.SCRIPTS: "{}", ShellSign.TEXT: "{} of text"},
    {
        ShellSign.DATA: "prose in JSON: {}",
        ShellSign.ARTICLE: "its text was taken from there",
        ShellSign.STATE: "data for the scripts: {}",
    },
    {ShellSign.ROUTES: "{} behind a #, which are not followed"},
)


def lines(evidence: Evidence | Mapping[str, str]) -> list[str]:
    """The evidence as a person sees it: `#root is empty`, then `3 scripts; 0 characters of text`, then its data."""
    said = ([text.format(evidence[sign]) for sign, text in line.items() if sign in evidence] for line in _LINES)
    return ["; ".join(parts) for parts in said if parts]
