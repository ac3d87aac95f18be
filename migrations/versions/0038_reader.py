"""the reader's version

A page says which version of the reader its text is from: texts of two versions are not compared. Pages of before are
read again from the archive. The index finds them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "pages",
        sa.Column(
            "reader",
            sa.SmallInteger(),
            nullable=True,
            comment="version of the reader that the text is from; NULL: of a release that noted none",
        ),
    )
    op.create_index(op.f("pages_reader"), "pages", ["crawl_id", "reader"])


def downgrade() -> None:
    op.drop_index(op.f("pages_reader"), table_name="pages")
    op.drop_column("pages", "reader")
