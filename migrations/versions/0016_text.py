"""text

Pages have the language that their text is in where they declare none, and when they say they were published and modified.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

COLUMNS = (
    sa.Column(
        "language_detected", sa.Text(), nullable=True, comment="ISO 639, of the main text, where none is declared"
    ),
    sa.Column("published_at", sa.TIMESTAMP(timezone=True), nullable=True, comment="as the page says"),
    sa.Column("published_from", sa.Text(), nullable=True, comment="where it says so: json-ld, meta, time"),
    sa.Column("modified_at", sa.TIMESTAMP(timezone=True), nullable=True, comment="as the page says"),
    sa.Column("modified_from", sa.Text(), nullable=True, comment="where it says so: json-ld, meta, time"),
)


def upgrade() -> None:
    for column in COLUMNS:
        op.add_column("pages", column)


def downgrade() -> None:
    for column in reversed(COLUMNS):
        op.drop_column("pages", column.name)
