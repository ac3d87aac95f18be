"""archive: segments of WARC records, the captures in them, and where the log's responses are

Crawls that exist already go on without an archive; `tiptoe crawl edit NAME --archive` turns it on.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

Time = postgresql.TIMESTAMP(timezone=True)
NOW = sa.text("clock_timestamp()")
POINTERS = {
    "segment_id": "segment that holds its response; NULL: it is not in the archive",
    "at_offset": "where in the segment its record begins",
    "length": "bytes of the record there, a gzip member",
}


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "archive",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("true"),
            comment="answers are kept in the archive, with their bodies",
        ),
    )
    op.execute("UPDATE crawls SET archive = false")
    for name, comment in POINTERS.items():
        op.add_column("fetches", sa.Column(name, sa.BigInteger(), nullable=True, comment=comment))
    _make_segments()
    _make_nodes()
    _make_captures()


def _make_segments() -> None:
    op.create_table(
        "segments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False, comment="machine that wrote it"),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="of the file; `.open` is added while it is open"),
        sa.Column(
            "state",
            sa.Text(),
            server_default=sa.text("'open'"),
            nullable=False,
            comment="open; closed: final, on its node's disk; uploaded: in the object store; gone: deleted",
        ),
        sa.Column("place", sa.Text(), nullable=True, comment="URL of an uploaded one"),
        sa.Column("bytes", sa.BigInteger(), nullable=True, comment="NULL while it is open"),
        sa.Column("records", sa.BigInteger(), nullable=True, comment="NULL while it is open"),
        sa.Column("opened_at", Time, server_default=NOW, nullable=False),
        sa.Column("closed_at", Time, nullable=True),
        sa.Column("uploaded_at", Time, nullable=True),
        sa.Column("gone_at", Time, nullable=True),
        sa.CheckConstraint("state IN ('open', 'closed', 'uploaded', 'gone')", name=op.f("segments_state_known")),
        sa.CheckConstraint("state IN ('open', 'gone') OR closed_at IS NOT NULL", name=op.f("segments_closed_has_time")),
        sa.CheckConstraint("state <> 'uploaded' OR place IS NOT NULL", name=op.f("segments_uploaded_has_place")),
        sa.PrimaryKeyConstraint("id", name=op.f("segments_pkey")),
        sa.UniqueConstraint("name", name=op.f("segments_name_key")),
        comment="Files of the archive (WARC), each of one crawl and one worker process.",
    )
    op.create_index("segments_crawl", "segments", ["crawl_id", "id"])


def _make_nodes() -> None:
    op.create_table(
        "archive_nodes",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False, comment="folder or object store of its archive"),
        sa.Column(
            "free_bytes", sa.BigInteger(), nullable=False, comment="of the disk that its segments are written to"
        ),
        sa.Column(
            "waiting_bytes",
            sa.BigInteger(),
            nullable=False,
            comment="closed segments that wait for the object store",
        ),
        sa.Column(
            "stopped_because",
            sa.Text(),
            nullable=True,
            comment="nothing is fetched there until this ends; NULL: all is well",
        ),
        sa.Column("stopped_at", Time, nullable=True),
        sa.Column(
            "trouble", sa.Text(), nullable=True, comment="what fails and is tried again, while it goes on fetching"
        ),
        sa.Column("seen_at", Time, server_default=NOW, nullable=False),
        sa.CheckConstraint(
            "(stopped_because IS NULL) = (stopped_at IS NULL)", name=op.f("archive_nodes_stopped_has_time")
        ),
        sa.PrimaryKeyConstraint("node", name=op.f("archive_nodes_pkey")),
        comment="Machines that write the archive, and whether they can.",
    )


def _make_captures() -> None:
    op.create_table(
        "captures",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("url", sa.Text(), nullable=False, comment="as sent"),
        sa.Column("fetched_at", Time, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=True),
        sa.Column("charset", sa.Text(), nullable=True),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=True, comment="of the decoded body"),
        sa.Column("text_sha256", sa.LargeBinary(), nullable=True, comment="of the main text"),
        sa.Column(
            "payload_sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="of the body as received, where it has a content-coding; NULL: as body_sha256, or as what it refers to",
        ),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False, comment="of the decoded body"),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("segment_id", sa.BigInteger(), nullable=False),
        sa.Column("at_offset", sa.BigInteger(), nullable=False, comment="where in the segment its record begins"),
        sa.Column("length", sa.BigInteger(), nullable=False, comment="bytes of the record there, a gzip member"),
        sa.Column(
            "refers_to",
            sa.BigInteger(),
            nullable=True,
            comment="capture whose body this revisit repeats; NULL: its record has its own",
        ),
        sa.CheckConstraint(
            "kind IN ('page', 'robots', 'sitemap', 'redirect', 'error')", name=op.f("captures_kind_known")
        ),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", "id", name=op.f("captures_pkey")),
        comment="Answers that are in the archive, and where.",
    )
    op.create_index("captures_crawl", "captures", ["crawl_id", "id"], unique=True)
    op.create_index("captures_segment", "captures", ["segment_id"])
    op.create_index(
        "captures_refers_to",
        "captures",
        ["crawl_id", "refers_to"],
        postgresql_where=sa.text("refers_to IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_table("captures")
    op.drop_table("archive_nodes")
    op.drop_table("segments")
    for name in POINTERS:
        op.drop_column("fetches", name)
    op.drop_column("crawls", "archive")
