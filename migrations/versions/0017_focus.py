"""focus

What a crawl values, how URLs were scored, how often pages change, and what URLs of one shape have brought.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "profile",
            sa.Text(),
            nullable=False,
            server_default=sa.text("'general'"),
            comment="what it values: the name of a shipped profile, or a TOML text",
        ),
    )
    op.add_column(
        "crawls",
        sa.Column(
            "recrawl_price_s",
            sa.Double(),
            comment="page-seconds of freshness that a recrawl must buy, by the profile's budget; NULL: there is none",
        ),
    )
    for name, kind, comment in (
        ("score_parts", sa.Integer(), "components of the score as it was admitted: app.policy.focus.score"),
        ("change_shape", sa.REAL(), "belief about how often it changes: shape of a Gamma distribution"),
        ("change_s", sa.REAL(), "of the same, its seconds; change_s / change_shape: from one change to the next"),
    ):
        op.add_column("urls", sa.Column(name, kind, comment=comment))
    op.create_table(
        "url_patterns",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("pattern", sa.Text(), nullable=False, comment="shape of URLs: app.policy.focus.shape"),
        sa.Column("urls", sa.Integer(), nullable=False, comment="about how many were found"),
        sa.Column("fetched", sa.Integer(), nullable=False, comment="pages of it"),
        sa.Column("new", sa.Integer(), nullable=False, comment="of these: with text that was new on the host"),
        sa.Column("refused", sa.Integer(), nullable=False, comment="URLs of it that were not fetched as a trap"),
        sa.Column("lately", sa.REAL(), nullable=False, comment="its latest pages, weighted"),
        sa.Column(
            "new_lately",
            sa.REAL(),
            nullable=False,
            comment="of these: that brought new text, or named a page that did",
        ),
        sa.Column(
            "changed_at",
            sa.TIMESTAMP(timezone=True),
            nullable=False,
            server_default=sa.text("clock_timestamp()"),
        ),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "pattern", name="url_patterns_pkey"),
        comment="What URLs of one shape have brought; written only under the host's lease.",
    )


def downgrade() -> None:
    op.drop_table("url_patterns")
    for name in ("change_s", "change_shape", "score_parts"):
        op.drop_column("urls", name)
    op.drop_column("crawls", "recrawl_price_s")
    op.drop_column("crawls", "profile")
