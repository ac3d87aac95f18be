"""the reader's version

A page says which version of the reader its text is from: texts of two versions are not compared. Pages of before are
read again from the archive. The index finds them. A comment says where dates are from by now.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


SOURCES_BEFORE = "where it says so: json-ld, meta, time"
SAID = {
    "pages": "version of the reader that the text is from; NULL: of a release that noted none",
    "urls": "version of the reader that text_sha256 is from, of a page that is not kept",
}


def upgrade() -> None:
    for table, comment in SAID.items():
        op.add_column(table, sa.Column("reader", sa.SmallInteger(), nullable=True, comment=comment))
    sources = "where it says so: json-ld, meta, time, text, url"
    op.alter_column("pages", "published_from", comment=sources, existing_comment=SOURCES_BEFORE)
    op.create_index(op.f("pages_reader"), "pages", ["reader", "crawl_id"])


def downgrade() -> None:
    op.drop_index(op.f("pages_reader"), table_name="pages")
    op.alter_column("pages", "published_from", comment=SOURCES_BEFORE)
    for table in SAID:
        op.drop_column(table, "reader")
