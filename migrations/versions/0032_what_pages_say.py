"""pages say of themselves: headline, author, data, and the day as they write it

Pages of before have them once they are fetched again and have changed, or are read again.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

COLUMNS = (
    ("headline", sa.Text(), "what stands over the page: an h1 that its titles share, else its title"),
    ("author", sa.Text(), "as JSON-LD, meta or a link name it"),
    ("data", JSONB(), "what the page says of itself: og, meta, json-ld; 16 KiB, then cut is true"),
    ("published_on", sa.Date(), "the day of published_at in the page's own zone"),
    ("modified_on", sa.Date(), "the day of modified_at in the page's own zone"),
)


def upgrade() -> None:
    for name, kind, comment in COLUMNS:
        op.add_column("pages", sa.Column(name, kind, nullable=True, comment=comment))


def downgrade() -> None:
    for name, *_ in reversed(COLUMNS):
        op.drop_column("pages", name)
