"""Endings of a rendering, and reasons why a request of its page was refused, as closed types."""

from enum import StrEnum


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
