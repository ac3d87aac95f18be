"""learned rendering

A pattern of a host remembers what a browser gained on its pages: those that look plain may then be rendered, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    none = sa.text("0")
    rendered = "renderings in a row that gained much"
    op.add_column(
        "url_patterns", sa.Column("rendered", sa.SmallInteger(), server_default=none, nullable=False, comment=rendered)
    )
    gain = "the least of these: characters, and links"
    op.add_column("url_patterns", sa.Column("gain", sa.Integer(), server_default=none, nullable=False, comment=gain))


def downgrade() -> None:
    op.drop_column("url_patterns", "gain")
    op.drop_column("url_patterns", "rendered")
