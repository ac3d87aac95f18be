"""Pages that are read when their batch is settled, one after another.

Read right after its fetch, a page meets cold caches, and threads that send other visits' requests meanwhile: it takes
up to twice the CPU (`python -m bench polite`). The visits of a group commit are parked until it ends anyway, and the
links of a page are not needed before. So a plain page of a host with a delay waits for that, with the others of its
group.

What may take long, or kill its reader, is read at once: no other visit waits for it.
"""

from dataclasses import dataclass
from functools import partial

from app.crawl.page import isolation, read
from app.crawl.page.attempt import Attempt
from app.crawl.state.batch import Batch
from app.crawl.state.visit import Visit
from app.errors import ServiceError
from app.model import Outcome

LARGEST_BYTES = 64 * 1024  # the slowest document of this size that we know takes 0.03 s


def may_wait(visit: Visit, attempt: Attempt) -> bool:
    """Whether a page may be read later: a small one, of a visit that will be parked."""
    gatherer = visit.worker.stays.gatherer
    return (
        gatherer is not None
        and attempt.outcome is Outcome.PAGE
        and attempt.sink is None
        and not attempt.isolated
        and len(attempt.reply.body) <= LARGEST_BYTES
        and visit.turn.ready_at - visit.now() >= gatherer.soonest_s
    )


def put(visit: Visit, attempt: Attempt) -> None:
    """Put a page into the batch, unread."""
    visit.batch.unread.append(_UnreadPage(visit, attempt))


def read_all(batch: Batch) -> None:
    """Read the pages of the batch that wait, and archive them. Raises ArchiveStopped, ServiceError.

    Repeat it after a failure: a page that could not be archived then waits as any other, and one whose reading failed
    is read again.
    """
    unread = batch.unread
    while unread:
        try:
            unread[0].read()
        except ServiceError:  # of the archive: what it could not take is in the batch
            del unread[0]
            raise
        del unread[0]


@dataclass(slots=True)
class _UnreadPage:
    visit: Visit
    attempt: Attempt
    is_read: bool = False

    @property
    def body_bytes(self) -> int:
        return len(self.attempt.reply.body)

    def read(self) -> None:
        """Read the page into the batch, and archive it."""
        visit, attempt = self.visit, self.attempt
        if not self.is_read:
            isolation.guarded(visit.batch, visit.picked, attempt, partial(read.page, visit, attempt))
            self.is_read = True
        isolation.guarded(
            visit.batch, visit.picked, attempt, partial(visit.worker.hooks.answered, visit=visit, attempt=attempt)
        )
