"""fingerprint changes

As many processes as there are compare pages: a fingerprint tells how old its text is, and each process what it changed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

ID = ("in the order in which they were stored", "the oldest is an original")
CHANGE = ("the last change: fingerprint_changes", "the last transaction that compared pages")
KEYED = (
    "Up to which fingerprint keys are written: others are in the memory of each process that compares.",
    "Up to which fingerprint keys are written: younger ones are in the memory of the process that compares.",
)


def upgrade() -> None:
    op.add_column(
        "fingerprints",
        sa.Column(
            "text_at",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="when its text was fetched, in microseconds since 1970; 0: a release that did not keep it",
        ),
    )
    op.add_column(
        "near_queue",
        sa.Column(
            "again",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="its text was compared before",
        ),
    )
    op.create_table(
        "fingerprint_changes",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("gone", sa.ARRAY(sa.BigInteger()), nullable=False, comment="fingerprints that were deleted"),
        sa.Column(
            "wanted",
            sa.ARRAY(sa.BigInteger()),
            nullable=False,
            comment="fingerprints that others look for from now on",
        ),
        sa.Column(
            "unwanted",
            sa.ARRAY(sa.BigInteger()),
            nullable=False,
            comment="fingerprints that others look for no longer",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("fingerprint_changes_pkey")),
        comment="The last changes of fingerprints, for the memories of the processes that compare; in order, without "
        "gaps.",
    )
    _comment(0)


def downgrade() -> None:
    _comment(1)
    op.drop_table("fingerprint_changes")
    op.drop_column("near_queue", "again")
    op.drop_column("fingerprints", "text_at")


def _comment(of: int) -> None:
    op.alter_column("fingerprints", "id", comment=ID[of], existing_comment=ID[1 - of])
    op.alter_column("fingerprints_keyed", "compared_by", comment=CHANGE[of], existing_comment=CHANGE[1 - of])
    op.create_table_comment("fingerprints_keyed", KEYED[of], existing_comment=KEYED[1 - of])
