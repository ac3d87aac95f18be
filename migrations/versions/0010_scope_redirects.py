"""scope redirects

Targets of seeds' redirects are added to the scope of their crawl.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "scope_redirects",
            sa.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="folders of URLs that seeds redirected to: hosts, or prefixes, that came into the scope",
        ),
    )


def downgrade() -> None:
    op.drop_column("crawls", "scope_redirects")
