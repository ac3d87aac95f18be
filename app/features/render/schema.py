"""Declares the tables of this feature: pages for a browser, and its workers."""

from sqlalchemy import (
    REAL,
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.store.tables import NOW, Time, metadata

renders = Table(
    "renders",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="SHA-256 of the canonical URL"),
    Column("url", Text, nullable=False, comment="as sent"),
    Column("pattern", Text, nullable=False, comment="shape of the URL, by which it is learned what rendering brings"),
    Column("state", Text, nullable=False),
    Column("due_at", Time, nullable=False, server_default=NOW, comment="not rendered before"),
    Column(
        "takes",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="times in a row that it was taken, and not ended",
    ),
    Column("attempts", SmallInteger, nullable=False, server_default=text("0"), comment="failures in a row"),
    Column("cause", Text, comment="of the last failure, in a line"),
    Column("evidence", JSONB, comment="that it is empty without JavaScript; NULL: its crawl renders all"),
    Column("status", SmallInteger, nullable=False, comment="of the plain answer, as the next three"),
    Column("headers", JSONB, nullable=False),
    Column("body", LargeBinary, comment="deflated; NULL once it is rendered"),
    Column("body_sha256", LargeBinary, nullable=False, comment="the same body is not rendered again within its time"),
    Column("ending", Text, comment="why the rendering ended: app.model.render.RenderEnding"),
    Column("brought", BigInteger, comment="characters of text, and links, more than without a browser"),
    Column("wall_ms", REAL),
    Column("cpu_ms", REAL, comment="of the browser"),
    Column("asked", Integer, comment="requests of the page that were judged"),
    Column("refused", JSONB, comment="requests by the reason why they were not sent"),
    Column("text_sha256", LargeBinary, comment="of the last rendering: change is judged on it"),
    Column("ended_at", Time),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    CheckConstraint("state IN ('due', 'done', 'failed', 'vain')", name="state_known"),
    CheckConstraint("(state = 'due') = (body IS NOT NULL)", name="due_has_body"),
    CheckConstraint("state = 'due' OR ended_at IS NOT NULL", name="ended_has_time"),
    CheckConstraint("state <> 'failed' OR cause IS NOT NULL", name="failed_has_cause"),
    Index("renders_due", "host_id", "crawl_id", "due_at", postgresql_where=text("state = 'due'")),
    Index("renders_crawl", "crawl_id", postgresql_where=text("state = 'due'")),
    Index("renders_pattern", "host_id", "crawl_id", "pattern", "ended_at", postgresql_where=text("state = 'done'")),
    comment="Pages that a browser is to open, or has opened: one row per page. Changed under their host's lease.",
)

render_workers = Table(
    "render_workers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("seen_at", Time, nullable=False, server_default=NOW),
    Column("browser", Text, comment="its version; NULL: it has none"),
    Column("problem", Text, comment="why it can render nothing, and the remedy"),
    comment="Workers of queue render, and whether they have a browser.",
)
