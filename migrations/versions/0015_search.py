"""search: the words of pages, for crawls that ask for it

Revision ID: 0015
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

KEY = ["host_id", "crawl_id", "key"]


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "search",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("false"),
            comment="the words of its pages are indexed for tiptoe search",
        ),
    )
    op.add_column(
        "crawls",
        sa.Column(
            "search_from",
            sa.BigInteger(),
            nullable=True,
            comment="search was switched; still to be done for the pages of hosts above this id; NULL: it is done",
        ),
    )
    _make_page_search()
    op.create_table(
        "search_queue",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("search_queue_pkey")),
        comment="Pages to be indexed for tiptoe search, the oldest first; a page may be there twice.",
    )


def _make_page_search() -> None:
    time = postgresql.TIMESTAMP(timezone=True)
    op.create_table(
        "page_search",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column(
            "config",
            sa.Text(),
            nullable=False,
            comment="text search configuration that stemmed it: simple, english, …",
        ),
        sa.Column("changed_at", time, nullable=False, comment="of the page: the newest matches are ranked"),
        sa.Column(
            "digest",
            sa.BigInteger(),
            nullable=False,
            comment="of the text that was indexed: equal ones are left alone",
        ),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False, comment="title (A), description (B), main text (D)"),
        sa.PrimaryKeyConstraint(*KEY, name=op.f("page_search_pkey")),
        sa.ForeignKeyConstraint(
            KEY,
            [f"pages.{column}" for column in KEY],
            name=op.f("page_search_host_id_fkey"),
            ondelete="CASCADE",
        ),
        comment="Words of pages, for tiptoe search: of crawls that ask for it. Written by beat, after the page.",
    )
    op.create_index("page_search_words", "page_search", ["words"], postgresql_using="gin")
    op.create_index("page_search_newest", "page_search", ["crawl_id", "changed_at"])
    # Words go to the TOAST table as early as they can: a common word's matches are read from narrow rows.
    op.execute("ALTER TABLE page_search SET (toast_tuple_target = 128)")


def downgrade() -> None:
    op.drop_table("search_queue")
    op.drop_table("page_search")
    op.drop_column("crawls", "search_from")
    op.drop_column("crawls", "search")
