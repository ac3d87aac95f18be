"""The figures of a worker or of beat."""

from collections.abc import Callable, Mapping

from app.errors import ArchiveStopped
from app.metrics.counts import Counts
from app.metrics.exposition import Value
from app.metrics.machine import memory

InHand = Callable[[], tuple[int, int]]  # visits in hand, and as many as there may be


def values(counts: Counts, check_archive: Callable[[], None] | None, in_hand: InHand) -> Mapping[str, Value]:
    """The figures now.   check_archive: raises ArchiveStopped while it cannot be written; None: there is none"""
    room = memory()
    with counts.lock:
        found: dict[str, Value] = {
            "tiptoe_fetches_total": dict(counts.fetches),
            "tiptoe_fetch_failures_total": dict(counts.failures),
            "tiptoe_pages_total": counts.pages,
            "tiptoe_received_bytes_total": counts.received_bytes,
            "tiptoe_fetch_seconds": counts.fetch_s.copy(),
            "tiptoe_first_byte_seconds": counts.first_byte_s.copy(),
            "tiptoe_politeness_violations_total": dict(counts.violations),
            "tiptoe_fenced_fetches_total": counts.fenced,
            "tiptoe_mixed_names_total": counts.mixed_names,
            "tiptoe_visits_ended_total": dict(counts.visits),
            "tiptoe_renders_total": dict(counts.renders),
            "tiptoe_render_seconds": counts.render_s.copy(),
            "tiptoe_render_requests_total": dict(counts.render_requests),
            "tiptoe_render_refused_total": dict(counts.render_refused),
            "tiptoe_settle_seconds": counts.settle_s.copy(),
            "tiptoe_dispatch_seconds": counts.dispatch_s.copy(),
            "tiptoe_hosts_dispatched_total": counts.dispatched,
            "tiptoe_dispatch_last_success_timestamp_seconds": counts.dispatched_at or 0.0,
        }
    found["tiptoe_visits_in_hand"], found["tiptoe_visits_in_hand_most"] = in_hand()
    if check_archive is not None:
        found["tiptoe_archive_stopped"] = float(_is_stopped(check_archive))
    if room is not None:
        found |= {"tiptoe_memory_limit_bytes": room.limit, "tiptoe_memory_available_bytes": room.available}
    return found


def _is_stopped(check: Callable[[], None]) -> bool:
    try:
        check()
    except ArchiveStopped:
        return True
    return False
