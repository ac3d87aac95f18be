"""near claims

Fingerprints are compared by as many processes as there are: those that wait stand in a table of their own, the order of
pages is a number of each, and three keys find what 21 did. What was noted stays; the fingerprints that stand keep their
order, before all new ones.
"""

from itertools import combinations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

QUEUE = (
    "Pages whose text is new, to be compared with others, the oldest first; a page may be there twice.",
    "Pages whose text is new, to get a fingerprint, the oldest first; a page may be there twice.",
)
PRINTS = (
    "Fingerprints of main texts. Written by beat, after the page.",
    "Fingerprints of main texts. Written beside the crawl, after the page.",
)
KEYS = (
    "21 keys of each fingerprint: two that differ in 5 bits at most have one in common.",
    "Three keys of each fingerprint that others look for: of originals that were compared.",
)
KEY = ("crawl, which two of seven blocks, and their bits", "crawl, which of three blocks, and its bits")
SEVEN = ", ".join(
    f"(f.simhash >> {shift}) & {mask}" for shift, mask in [(0, 1023), *((10 + 9 * n, 511) for n in range(6))]
)
PAIRS = ", ".join(f"({n}, {one}, {other})" for n, (one, other) in enumerate(combinations(range(1, 8), 2)))
ORIGINAL = """NOT EXISTS (
    SELECT FROM duplicates AS d
    WHERE d.host_id = f.host_id AND d.crawl_id = f.crawl_id AND d.key = f.key AND d.kind <> 'review')"""


def upgrade() -> None:
    op.add_column(
        "near_queue",
        sa.Column(
            "place",
            sa.BigInteger(),
            nullable=False,
            server_default=sa.text("0"),
            comment="by (fetched_at, key), as of fingerprints: none behind it is compared before; 0: not known",
        ),
    )
    op.create_index("near_queue_place", "near_queue", ["crawl_id", "place", "id"])
    op.create_table_comment("near_queue", QUEUE[1], existing_comment=QUEUE[0])
    op.add_column(
        "fingerprints",
        sa.Column(
            "place",
            sa.BigInteger(),
            nullable=True,
            comment="by (fetched_at, key): microseconds and 11 bits of the key; the earlier is the original",
        ),
    )
    op.execute("UPDATE fingerprints SET place = id")
    op.alter_column("fingerprints", "place", nullable=False)
    op.alter_column("fingerprints", "id", comment=None, existing_comment="the oldest is an original")
    op.drop_index("fingerprints_host", "fingerprints")
    op.create_index(
        "fingerprints_host", "fingerprints", ["host_id", "crawl_id"], postgresql_include=["id", "place", "simhash"]
    )
    op.create_table_comment("fingerprints", PRINTS[1], existing_comment=PRINTS[0])
    op.create_table(
        "fingerprints_due",
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        sa.Column(
            "is_new",
            sa.Boolean(),
            nullable=False,
            comment="not compared before, or it repeated another: younger ones may repeat it",
        ),
        sa.PrimaryKeyConstraint("crawl_id", "place", "id", name=op.f("fingerprints_due_pkey")),
        comment="Fingerprints to be compared, the earliest page's first.",
    )
    op.drop_table("fingerprints_keyed")
    op.drop_table("fingerprint_keys")
    op.create_table(
        "fingerprint_keys",
        sa.Column("key", sa.BigInteger(), nullable=False, comment=KEY[1]),
        sa.Column("place", sa.BigInteger(), nullable=False, comment="of the fingerprint"),
        sa.Column("fingerprint_id", sa.BigInteger(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        comment=KEYS[1],
    )
    op.execute(
        f"""INSERT INTO fingerprint_keys (key, place, fingerprint_id, simhash)
            SELECT (f.crawl_id << 25) | (b.n << 22) | ((f.simhash >> b.shift) & b.mask), f.place, f.id, f.simhash
            FROM fingerprints AS f
            CROSS JOIN (VALUES (0, 0, 4194303), (1, 22, 2097151), (2, 43, 2097151)) AS b (n, shift, mask)
            WHERE {ORIGINAL}"""  # noqa: S608  # words of ours
    )
    op.create_index(
        "fingerprint_keys_key", "fingerprint_keys", ["key", "place"], postgresql_include=["fingerprint_id", "simhash"]
    )


def downgrade() -> None:
    op.execute(
        """INSERT INTO near_queue (host_id, crawl_id, key)
           SELECT f.host_id, f.crawl_id, f.key FROM fingerprints_due JOIN fingerprints AS f USING (crawl_id, id)"""
    )
    op.drop_table("fingerprints_due")
    op.drop_table("fingerprint_keys")
    op.create_table(
        "fingerprint_keys",
        sa.Column("key", sa.BigInteger(), nullable=False, comment=KEY[0]),
        sa.Column("fingerprint_id", sa.BigInteger(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        comment=KEYS[0],
    )
    op.execute(
        f"""INSERT INTO fingerprint_keys (key, fingerprint_id, simhash)
            SELECT (f.crawl_id << 25) | (p.n << 20) | (b.blocks[p.one] << 10) | b.blocks[p.other], f.id, f.simhash
            FROM fingerprints AS f
            CROSS JOIN LATERAL (SELECT ARRAY[{SEVEN}] AS blocks) AS b
            CROSS JOIN (VALUES {PAIRS}) AS p (n, one, other)
            WHERE {ORIGINAL}"""  # noqa: S608  # words of ours
    )
    op.create_index(
        "fingerprint_keys_key", "fingerprint_keys", ["key"], postgresql_include=["fingerprint_id", "simhash"]
    )
    op.create_table(
        "fingerprints_keyed",
        sa.Column("crawl_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "up_to",
            sa.BigInteger(),
            nullable=False,
            comment="the last fingerprint that has keys, if others look for it",
        ),
        sa.Column(
            "compared_by", sa.BigInteger(), nullable=False, comment="the last transaction that compared its pages"
        ),
        sa.PrimaryKeyConstraint("crawl_id", name=op.f("fingerprints_keyed_pkey")),
        comment="By crawl, up to which fingerprint keys are written: younger ones are in the memory of the process that "
        "compares.",
    )
    op.execute(
        "INSERT INTO fingerprints_keyed (crawl_id, up_to, compared_by)"
        " SELECT crawl_id, max(id), 0 FROM fingerprints GROUP BY crawl_id"
    )
    op.create_table_comment("fingerprints", PRINTS[0], existing_comment=PRINTS[1])
    op.drop_index("fingerprints_host", "fingerprints")
    op.alter_column("fingerprints", "id", comment="the oldest is an original", existing_comment=None)
    op.drop_column("fingerprints", "place")
    op.create_index("fingerprints_host", "fingerprints", ["host_id", "crawl_id"], postgresql_include=["id", "simhash"])
    op.create_table_comment("near_queue", QUEUE[0], existing_comment=QUEUE[1])
    op.drop_index("near_queue_place", "near_queue")
    op.drop_column("near_queue", "place")
