"""near duplicates

Fingerprints of main texts with the keys that they are looked up by, the queue of pages that wait for theirs, and where
the original of a duplicate is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

WORDS = (
    "body: the same bytes, links not followed again; text: the same main text",
    "body: the same bytes; text: the same main text; near: nearly the same; review: alike",
)
OF = (
    "Pages that say exactly what another page of the crawl says.",
    "Pages that say what another page of the crawl says.",
)
KINDS = ("kind IN ('body', 'text')", "kind IN ('body', 'text', 'near', 'review')")


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "near_duplicates",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("true"),
            comment="pages are compared with each other, to find those that say nearly the same",
        ),
    )
    for name, kind, comment in (
        ("of_host_id", sa.BigInteger(), "host of of_url; NULL: noted by a release that did not keep it"),
        ("of_key", sa.LargeBinary(), "key of of_url"),
        ("bits", sa.SmallInteger(), "near and review: in how many bits of 64 their fingerprints differ"),
    ):
        op.add_column("duplicates", sa.Column(name, kind, comment=comment))
    op.alter_column("duplicates", "kind", comment=WORDS[1], existing_comment=WORDS[0])
    op.create_table_comment("duplicates", OF[1], existing_comment=OF[0])
    op.drop_constraint(op.f("duplicates_kind_known"), "duplicates")
    op.create_check_constraint(op.f("duplicates_kind_known"), "duplicates", KINDS[1])
    op.create_index("duplicates_of", "duplicates", ["of_host_id", "crawl_id", "of_key"])
    op.create_table(
        "near_queue",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="near_queue_pkey"),
        comment="Pages whose text is new, to be compared with others, the oldest first; a page may be there twice.",
    )
    op.create_table(
        "fingerprints",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False, comment="the oldest is an original"),
        sa.Column("simhash", sa.BigInteger(), nullable=False, comment="64 bits: app.policy.focus.simhash"),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", name="fingerprints_pkey"),
        comment="Fingerprints of main texts. Written by beat, after the page.",
    )
    op.create_index("fingerprints_id", "fingerprints", ["id"], unique=True)
    op.create_index("fingerprints_host", "fingerprints", ["host_id", "crawl_id"], postgresql_include=["id", "simhash"])
    op.create_table(
        "fingerprint_keys",
        sa.Column("key", sa.BigInteger(), nullable=False, comment="crawl, which two of seven blocks, and their bits"),
        sa.Column("fingerprint_id", sa.BigInteger(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        comment="21 keys of each fingerprint: two that differ in 5 bits at most have one in common.",
    )
    op.create_index(
        "fingerprint_keys_key", "fingerprint_keys", ["key"], postgresql_include=["fingerprint_id", "simhash"]
    )


def downgrade() -> None:
    for table in ("fingerprint_keys", "fingerprints", "near_queue"):
        op.drop_table(table)
    op.alter_column("duplicates", "kind", comment=WORDS[0], existing_comment=WORDS[1])
    op.create_table_comment("duplicates", OF[0], existing_comment=OF[1])
    op.execute("DELETE FROM duplicates WHERE kind IN ('near', 'review')")
    op.drop_index("duplicates_of", "duplicates")
    op.drop_constraint(op.f("duplicates_kind_known"), "duplicates")
    op.create_check_constraint(op.f("duplicates_kind_known"), "duplicates", KINDS[0])
    for name in ("bits", "of_key", "of_host_id"):
        op.drop_column("duplicates", name)
    op.drop_column("crawls", "near_duplicates")
