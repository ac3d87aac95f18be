"""aliases due

A page that names another as its canonical is looked at again when it is due: the index of what is due holds aliases, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

SAID = "resting, gone, and alias by a canonical: when to look again"
SAID_BEFORE = "resting and gone: when to look again"


def upgrade() -> None:
    op.drop_index(op.f("urls_due"), table_name="urls")
    states = sa.text("state IN ('resting', 'gone', 'alias')")
    op.create_index(op.f("urls_due"), "urls", ["crawl_id", "due_at"], postgresql_where=states)
    op.alter_column("urls", "due_at", comment=SAID, existing_comment=SAID_BEFORE)
    # Those that are aliases by now are looked at within one interval, not all at once.
    op.execute(
        """
        UPDATE urls SET due_at = clock_timestamp() + random() * make_interval(secs => coalesce(interval_s, 604800))
        WHERE state = 'alias' AND outcome IN ('page', 'unchanged') AND due_at IS NULL
        """
    )


def downgrade() -> None:
    op.drop_index(op.f("urls_due"), table_name="urls")
    op.create_index(
        op.f("urls_due"), "urls", ["crawl_id", "due_at"], postgresql_where=sa.text("state IN ('resting', 'gone')")
    )
    op.alter_column("urls", "due_at", comment=SAID_BEFORE, existing_comment=SAID)
