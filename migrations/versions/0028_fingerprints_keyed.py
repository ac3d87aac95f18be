"""fingerprints keyed

Keys of fingerprints are written when these leave the memory of the process that compares them. All that stand have
theirs.
"""

from itertools import combinations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

COMMENT = "Up to which fingerprint keys are written: younger ones are in the memory of the process that compares."
BLOCKS = ", ".join(
    f"(f.simhash >> {shift}) & {mask}" for shift, mask in [(0, 1023), *((10 + 9 * n, 511) for n in range(6))]
)
PAIRS = ", ".join(f"({n}, {one}, {other})" for n, (one, other) in enumerate(combinations(range(1, 8), 2)))


def upgrade() -> None:
    op.create_table(
        "fingerprints_keyed",
        sa.Column("is_only", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column(
            "up_to",
            sa.BigInteger(),
            nullable=False,
            comment="the last fingerprint that has keys, if others look for it",
        ),
        sa.Column("crawl_ids", sa.ARRAY(sa.BigInteger()), nullable=False, comment="crawls that have such"),
        sa.Column("compared_by", sa.BigInteger(), nullable=False, comment="the last transaction that compared pages"),
        sa.CheckConstraint("is_only", name=op.f("fingerprints_keyed_one_row")),
        sa.PrimaryKeyConstraint("is_only", name=op.f("fingerprints_keyed_pkey")),
        comment=COMMENT,
    )
    op.execute(
        """INSERT INTO fingerprints_keyed (up_to, crawl_ids, compared_by)
           SELECT coalesce(max(id), 0), ARRAY(SELECT id FROM crawls ORDER BY id), 0 FROM fingerprints"""
    )


def downgrade() -> None:
    op.execute(
        f"""INSERT INTO fingerprint_keys (key, fingerprint_id, simhash)
            SELECT (f.crawl_id << 25) | (p.n << 20) | (b.blocks[p.one] << 10) | b.blocks[p.other], f.id, f.simhash
            FROM fingerprints AS f
            CROSS JOIN LATERAL (SELECT ARRAY[{BLOCKS}] AS blocks) AS b
            CROSS JOIN (VALUES {PAIRS}) AS p (n, one, other)
            WHERE f.id > (SELECT coalesce(max(up_to), 0) FROM fingerprints_keyed)
              AND NOT EXISTS (
                  SELECT FROM duplicates AS d
                  WHERE d.host_id = f.host_id AND d.crawl_id = f.crawl_id AND d.key = f.key AND d.kind <> 'review')"""  # noqa: S608  # numbers of ours
    )
    op.drop_table("fingerprints_keyed")
