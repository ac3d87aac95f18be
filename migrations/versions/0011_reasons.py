"""reasons

Why a visit ended, why a host rests and why a URL ended were sentences: they become closed values, with a detail beside them.
Each table is gone through twice, and only rows that hold a sentence are written.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Pattern of what was written before, the value, the detail. The first that fits; what is a value already is left alone.
CAUSES = [
    (r"^robots\.txt (line \d+: .*)$", "robots.txt", r"\1"),
    (r"^robots\.txt out of reach, (.*)$", "robots.txt out of reach", r"\1"),
    (r"^robots\.txt cannot be written: (.*)$", "robots.txt cannot be written", r"\1"),
    (r"^no URL of ours any more: (.*)$", "no URL of ours any more", r"\1"),
    (
        r"^out of the crawl's scope since it was admitted: (.*)$",
        "out of the crawl's scope since it was admitted",
        r"\1",
    ),
    (r"^redirects to itself: (.*)$", "redirects to itself", r"\1"),
    (r"^redirects to no URL of ours \(([^)]*)\): (.*)$", "redirects to no URL of ours", r"\1: \2"),
    (r"^redirects between spellings of itself: (.*)$", "redirects between spellings of itself", r"\1"),
    (r"^([a-z_]+ \(.*\) \d+ times)$", "failed too often", r"\1"),
    (r"^(\d+ server errors or missing answers in a row, the last: .*)$", "host fails", r"\1"),
    (r"^host out of reach (\d+ times in a row: .*)$", "host out of reach", r"\1"),
    (r"^challenged (\d+ times in a row)$", "challenged", r"\1"),
    (r"^(parser .*)$", "cannot be read", r"\1"),
    (r"^poison: (.*)$", "poison", r"\1"),
    (r"^what came of it cannot be written: (.*)$", "what came of it cannot be written", r"\1"),
    (r"^what it lists cannot be written: (.*)$", "what it lists cannot be written", r"\1"),
    (r"^(\S+ is [0-9a-f.:]+: .*|\S+ \([0-9a-f.:]+\) is public and no contact is set.*)$", "blocked address", r"\1"),
    (r"^(.*)$", "other", r"\1"),
]
CAUSES_AS_THEY_ARE = [
    "robots.txt",
    "kept out of pages: noindex",
    "kept out of pages: it opts out of text and data mining",
    "kept out of pages: its site opts out of text and data mining",
]
RESTS = [
    (r"^budget$", "page budget", ""),
    (r"^redirect$", "Retry-After on a redirect", ""),
    (r"^(address|network) rests: (.*)$", r"\1 rests", r"\2"),
    (r"^(the server closed the connection while its start was waited for)$", "late for its start", r"\1"),
    (r"^(.*)$", "other", r"\1"),
]
RESTS_AS_THEY_ARE = [
    "rate_limited",
    "unavailable",
    "unreachable",
    "challenged",
    "reset",
    "Retry-After on a redirect",
    "breaker",
    "robots.txt out of reach",
    "visit-time of robots.txt",
    "quiet hours",
    "the slow hosts' share of threads",
    "address budget",
    "network budget",
    "domain budget",
    "all budget",
    "late for its start",
]
ENDINGS = [
    (r"^budget$", "rests", "page budget"),
    (r"^(robots\.txt out of reach|visit-time of robots\.txt)$", "waits", r"\1"),
    (r"^(.*)$", "rests", r"\1"),
]
ENDINGS_AS_THEY_ARE = [
    "delay",
    "long enough",
    "nothing due",
    "its address rests",
    "blocked address",
    "readers busy",
    "paused",
    "worker stops",
    "robots check",
    "Postgres was away",
    "in doubt",
    "fenced",
    "lost",
]


def upgrade() -> None:
    op.add_column(
        "hosts",
        sa.Column("resting_detail", sa.Text(), nullable=True, comment="more of resting_because, for a person"),
    )
    op.add_column("urls", sa.Column("detail", sa.Text(), nullable=True, comment="more of the cause, for a person"))
    op.add_column("visits", sa.Column("detail", sa.Text(), nullable=True, comment="more of the ending, for a person"))
    _close("hosts", "resting_because", "resting_detail", RESTS, RESTS_AS_THEY_ARE)
    _close("urls", "cause", "detail", CAUSES, CAUSES_AS_THEY_ARE)
    _close("visits", "ending", "detail", ENDINGS, ENDINGS_AS_THEY_ARE)


def _close(table: str, column: str, detail: str, forms: list[tuple[str, str, str]], kept: list[str]) -> None:
    """Sentences to values. Each sentence is matched once, however many rows hold it."""
    rows = [{"n": n, "pattern": form[0], "value": form[1], "detail": form[2]} for n, form in enumerate(forms)]
    op.get_bind().execute(
        sa.text(
            f"""
            WITH forms AS MATERIALIZED (
                SELECT * FROM json_to_recordset(CAST(:forms AS json)) AS r (n integer, pattern text, value text, detail text)
            ), sentences AS MATERIALIZED (
                SELECT DISTINCT {column} AS was FROM {table}
                WHERE {column} IS NOT NULL AND {column} <> ALL(CAST(:kept AS text[]))
            ), reasons AS MATERIALIZED (
                SELECT s.was, regexp_replace(s.was, f.pattern, f.value) AS value,
                       nullif(regexp_replace(s.was, f.pattern, f.detail), '') AS detail
                FROM sentences AS s
                CROSS JOIN LATERAL (SELECT * FROM forms WHERE s.was ~ pattern ORDER BY n LIMIT 1) AS f
            )
            UPDATE {table} SET {column} = v.value, {detail} = v.detail FROM reasons AS v WHERE {table}.{column} = v.was
            """  # noqa: S608  # names of our own
        ),
        {"forms": json.dumps(rows), "kept": kept},
    )


def downgrade() -> None:
    """The code of before decides by `… budget`, `… rests: …`, `quiet hours`, and the causes of pages that are kept out."""
    op.execute("UPDATE hosts SET resting_because = 'budget' WHERE resting_because = 'page budget'")
    op.execute(
        """
        UPDATE hosts SET resting_because = CASE WHEN resting_because = 'other' THEN resting_detail
                                                ELSE resting_because || ': ' || resting_detail END
        WHERE resting_detail IS NOT NULL AND resting_because NOT LIKE '% budget'
        """
    )
    op.execute(
        """
        UPDATE urls SET cause = CASE WHEN cause = 'other' THEN detail ELSE cause || ': ' || detail END
        WHERE detail IS NOT NULL
        """
    )
    op.execute("UPDATE visits SET ending = detail WHERE detail IS NOT NULL")
    op.drop_column("visits", "detail")
    op.drop_column("urls", "detail")
    op.drop_column("hosts", "resting_detail")
