"""Frozen values that flow between the rooms. Their methods use nothing but the value itself; no I/O."""

from app.model.crawl import Budgets, CrawlChange, CrawlSpec
from app.model.fetch import Failure, Gate, Header, Outcome, Reply, Request, RequestKind, Unsent, Whereabouts
from app.model.page import Link, Page
from app.model.reasons import Cause, CrawlEnding, Rest, RestReason, VisitEnding
from app.model.url import Origin, Refusal, Url

__all__ = [
    "Budgets",
    "Cause",
    "CrawlChange",
    "CrawlEnding",
    "CrawlSpec",
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
    "Rest",
    "RestReason",
    "Unsent",
    "Url",
    "VisitEnding",
    "Whereabouts",
]
