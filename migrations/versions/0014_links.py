"""links: links of pages, kept where a crawl asks for it

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

COMMENTS = {
    "key": "of the page that has them",
    "found_at": "when the page was read",
    "url": "of the page",
    "links": "in document order: to (as it would be sent), anchor, rel",
}


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "keep_links",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("false"),
            comment="links are kept, in `links`",
        ),
    )
    op.execute(
        """
        CREATE TABLE links (
            id bigint GENERATED ALWAYS AS IDENTITY,
            host_id bigint NOT NULL,
            crawl_id bigint NOT NULL,
            key bytea NOT NULL,
            found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            url text NOT NULL,
            links json NOT NULL,
            CONSTRAINT links_pkey PRIMARY KEY (found_at, id)
        ) PARTITION BY RANGE (found_at)
        """
    )
    op.execute("CREATE INDEX links_page ON links (host_id, crawl_id, found_at)")
    op.execute(
        "COMMENT ON TABLE links IS 'Links of crawls that keep them, a row for each reading of a page. "
        "v_links has a row for each link.'"
    )
    for column, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN links.{column} IS '{comment}'")
    op.execute(
        """
        DO $$
        BEGIN
            EXECUTE format(
                'CREATE TABLE links_past PARTITION OF links FOR VALUES FROM (MINVALUE) TO (%L)',
                (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
        END $$
        """
    )
    op.execute("CREATE TABLE links_default PARTITION OF links DEFAULT")


def downgrade() -> None:
    op.drop_table("links")
    op.drop_column("crawls", "keep_links")
