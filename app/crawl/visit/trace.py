"""Logs what became of some URLs, the same ones in every process: one in `log_trace` of all, by their keys.

The key's beginning is the id (`trace`) by which a URL is followed from its refusal or fetch to its items.
"""

from collections.abc import Sequence

import structlog

from app.crawl.state.batch import Batch

_log = structlog.get_logger()
ID_BYTES = 6


def is_sampled(key: bytes, one_in: int) -> bool:
    """Whether a URL is among the sample, by its key (SHA-256).   one_in: 0: none"""
    return one_in > 0 and int.from_bytes(key[:ID_BYTES]) % one_in == 0


def settled(batches: Sequence[Batch], one_in: int) -> None:
    """Log the sampled URLs of batches that were written. It costs nothing where there is no sample."""
    if not one_in:
        return
    for batch in batches:
        links = {
            reading.page["key"]: reading.page["links"] for reading in batch.found.readings if reading.page is not None
        }
        for fetch in batch.fetches:
            if is_sampled(fetch["url_key"], one_in):
                body = fetch["body_sha256"]
                _log.info(
                    "trace.settled",
                    trace=trace_id(fetch["url_key"]),
                    url=fetch["url"],
                    visit=fetch["visit_id"],
                    kind=fetch["kind"],
                    outcome=fetch["outcome"],
                    status=fetch["status"],
                    bytes=fetch["body_bytes"],
                    content_hash_prefix=body.hex()[:12] if body else None,
                    discovered_links_count=links.get(fetch["url_key"]),
                    ms=round(fetch["total_ms"]),
                    segment=fetch["segment_id"],
                    at_offset=fetch["at_offset"],
                )
        for refused in batch.found.suppressions.values():
            if is_sampled(refused["key"], one_in):
                _log.info(
                    "trace.refused",
                    trace=trace_id(refused["key"]),
                    url=refused["url"],
                    suppression_reason=refused["reason"],
                    found_on=refused["found_on"],
                )


def trace_id(key: bytes) -> str:
    return key[:ID_BYTES].hex()
