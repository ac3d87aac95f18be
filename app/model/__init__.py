"""Frozen values that flow between the rooms. Their methods use nothing but the value itself; no I/O."""

from app.model.crawl import Budgets, CrawlChange, CrawlSpec
from app.model.fetch import (
    Archived,
    Capture,
    CaptureKind,
    Failure,
    Gate,
    Header,
    Outcome,
    Reply,
    Request,
    RequestKind,
    Segment,
    SegmentState,
    Unsent,
    Whereabouts,
)
from app.model.page import Link, Page
from app.model.reasons import Cause, CrawlEnding, Rest, RestReason, VisitEnding
from app.model.url import Origin, Refusal, Url

__all__ = [
    "Archived",
    "Budgets",
    "Capture",
    "CaptureKind",
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
    "Segment",
    "SegmentState",
    "Unsent",
    "Url",
    "VisitEnding",
    "Whereabouts",
]
