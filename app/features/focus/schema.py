"""Declares the tables of this feature: what patterns of URLs brought."""

from sqlalchemy import REAL, BigInteger, Column, Integer, PrimaryKeyConstraint, SmallInteger, Table, Text, text

from app.store.tables import NOW, Time, metadata

url_patterns = Table(
    "url_patterns",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("pattern", Text, nullable=False, comment="shape of URLs: app.policy.focus.shape"),
    Column("urls", Integer, nullable=False, comment="about how many were found"),
    Column("fetched", Integer, nullable=False, comment="pages of it"),
    Column("new", Integer, nullable=False, comment="of these: with text that was new on the host"),
    Column("refused", Integer, nullable=False, comment="URLs of it that were not fetched as a trap"),
    Column("lately", REAL, nullable=False, comment="its latest pages, weighted"),
    Column("new_lately", REAL, nullable=False, comment="of these: that brought new text, or named a page that did"),
    Column(
        "rendered",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="renderings in a row that gained much",
    ),
    Column(
        "gain", Integer, nullable=False, server_default=text("0"), comment="the least of these: characters, and links"
    ),
    Column(
        "told", Integer, nullable=False, server_default=text("0"), comment="pages with a line of their own, or a number"
    ),
    Column(
        "spared",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="refused URLs that the budget let pass last",
    ),
    Column("grown", Integer, nullable=False, server_default=text("0"), comment="refused by then"),
    Column("changed_at", Time, nullable=False, server_default=NOW),
    PrimaryKeyConstraint("host_id", "crawl_id", "pattern"),
    comment="What URLs of one shape have brought; written only under the host's lease.",
)
