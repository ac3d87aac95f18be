"""lineage: the server and database that the rows are in, and the one they were in

The function reads what only the server knows, so that a query can compare it without a round trip: the cluster and its timeline
(a promoted replica, a recovery to a point in time), the database (a copy), the table (a restored dump).
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lineage",
        sa.Column(
            "is_only",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
        ),
        sa.Column("seen", sa.Text(), nullable=False, comment="what tiptoe_lineage() said when it was last looked at"),
        sa.Column(
            "since",
            sa.TIMESTAMP(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
            comment="when that was new",
        ),
        sa.CheckConstraint("is_only", name=op.f("lineage_one_row")),
        sa.PrimaryKeyConstraint("is_only", name=op.f("lineage_pkey")),
        comment="What the rows were last known to be in: another server, timeline or database may lack what was written last.",
    )
    op.execute(
        """
        CREATE FUNCTION tiptoe_lineage() RETURNS text LANGUAGE sql STABLE AS $$
            SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                             substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                             (SELECT oid FROM pg_database WHERE datname = current_database()),
                             CAST(CAST('hosts' AS regclass) AS oid))
        $$
        """
    )
    op.execute(
        "COMMENT ON FUNCTION tiptoe_lineage() IS 'Cluster, timeline, database and table: what a failover or a restore changes.'"
    )


def downgrade() -> None:
    op.execute("DROP FUNCTION tiptoe_lineage()")
    op.drop_table("lineage")
