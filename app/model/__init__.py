"""Frozen values that flow between the rooms. Their methods use nothing but the value itself; no I/O."""

from app.model.fetch import Failure, Gate, Header, Outcome, Reply, Request, RequestKind, Unsent, Whereabouts
from app.model.page import Link, Page
from app.model.url import Origin, Refusal, Url

__all__ = [
    "Failure",
    "Gate",
    "Header",
    "Link",
    "Origin",
    "Outcome",
    "Page",
    "Refusal",
    "Reply",
    "Request",
    "RequestKind",
    "Unsent",
    "Url",
    "Whereabouts",
]
