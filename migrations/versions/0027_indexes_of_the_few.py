"""indexes of the few

The index of what waits for a browser leads to each crawl of a host; that of a pattern holds what was rendered alone;
hosts that drop parameters have one; and requests have one by their address budget, for the proof of one host.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

DUE, DONE = sa.text("state = 'due'"), sa.text("state = 'done'")
DROPPING = sa.text("dropped_parameters <> '{}'")


def upgrade() -> None:
    op.drop_index(op.f("renders_due"), table_name="renders")
    op.drop_index(op.f("renders_pattern"), table_name="renders")
    op.create_index(op.f("renders_due"), "renders", ["host_id", "crawl_id", "due_at"], postgresql_where=DUE)
    pattern = ["host_id", "crawl_id", "pattern", "ended_at"]
    op.create_index(op.f("renders_pattern"), "renders", pattern, postgresql_where=DONE)
    op.create_index(op.f("hosts_dropping"), "hosts", ["name"], postgresql_where=DROPPING)
    op.create_index(
        "fetches_budget",
        "fetches",
        [sa.text('address_budget COLLATE "C"')],
        postgresql_where=sa.text("address_budget IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("fetches_budget", table_name="fetches")
    op.drop_index(op.f("hosts_dropping"), table_name="hosts")
    op.drop_index(op.f("renders_pattern"), table_name="renders")
    op.drop_index(op.f("renders_due"), table_name="renders")
    op.create_index(op.f("renders_due"), "renders", ["due_at"], postgresql_where=DUE)
    op.create_index(op.f("renders_pattern"), "renders", ["host_id", "crawl_id", "pattern", "ended_at"])
