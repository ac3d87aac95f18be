"""spared patterns

A pattern whose URLs were refused remembers how many of its pages told something of their own, be it a number: such URLs
are fetched after all where the budget has room.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name, comment in (
        ("told", "pages with a line of their own, or a number"),
        ("spared", "refused URLs that the budget let pass last"),
        ("grown", "refused by then"),
    ):
        column = sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False, comment=comment)
        op.add_column("url_patterns", column)


def downgrade() -> None:
    for name in ("grown", "spared", "told"):
        op.drop_column("url_patterns", name)
