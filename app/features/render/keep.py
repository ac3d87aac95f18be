"""Archives what a browser made of a page, as a record beside the plain answer that it was made from.

Not where its owner wants no copy, or its plain answer is not in the archive. What stands there already is not written
again.
"""

from hashlib import sha256

from app.browser.values import Rendering
from app.crawl.state.visit import Visit
from app.features.archive.keep import CAPTURES, holds, keeper_of
from app.features.archive.rendered import RenderedDocument
from app.features.render.take_in import TakenIn
from app.model import Url
from app.model.render import RenderEnding
from app.store import captures, db
from app.store.renders import TakenRender
from app.store.url_rows import Due


def check(visit: Visit, due: Due) -> None:
    """Raises ArchiveStopped where the document could not be kept."""
    keeper = keeper_of(visit.worker)
    if keeper is not None and holds(visit, due):
        keeper.check()


def keep(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering, made: TakenIn) -> None:
    """Write the document's records, and put its capture into the batch. Raises ArchiveStopped, ServiceError."""
    keeper = keeper_of(visit.worker)
    if keeper is None or not holds(visit, due) or not made.may_be_kept:
        return
    with db.transaction(visit.worker.engine) as tx:
        source = captures.rendered(
            tx, host_id=taken.host_id, crawl_id=taken.crawl_id, key=taken.key, body_sha256=taken.body_sha256
        )
    body_sha256 = sha256(made.body).digest()
    if source is None or source.standing == body_sha256:
        return
    refused = {f"refused-{reason.value}": n for reason, n in found.refused.items()}
    document = RenderedDocument(
        host_id=taken.host_id,
        crawl_id=taken.crawl_id,
        key=taken.key,
        url=source.url,
        rendered_at=visit.lease.database_time(visit.now()),
        status=source.status,
        source=source.id,
        source_record=source.record_id,
        body=made.body,
        body_sha256=body_sha256,
        text_sha256=made.text_sha256,
        at=made.at.text if made.at.key != url.key else None,
        is_cut=found.ending is RenderEnding.DOM,
        notes={"ending": found.ending.value, "wallTimeMs": round(found.wall_s * 1000), "asked": found.asked, **refused},
    )
    visit.batch.add(CAPTURES, keeper.append_rendered(document))
