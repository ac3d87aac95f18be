"""found by budget

Two indexes: requests by the address budget that they drew on, for the proof of one host, which read the whole log; and
the few hosts that drop parameters, which `url why` and `seed add` read all hosts for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "fetches_budget",
        "fetches",
        [sa.text('address_budget COLLATE "C"')],
        postgresql_where=sa.text("address_budget IS NOT NULL"),
    )
    op.create_index("hosts_dropping", "hosts", ["id"], postgresql_where=sa.text("dropped_parameters <> '{}'"))


def downgrade() -> None:
    op.drop_index("hosts_dropping", table_name="hosts")
    op.drop_index("fetches_budget", table_name="fetches")
