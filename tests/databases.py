"""The databases of a process of tests: copies of one that was migrated once.

Modules that change nothing but rows have the same one in turn: to make a database, to drop it, and to teach new
connections its tables and plans takes as long as several tests.
"""

import itertools
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from app.store.migrate import upgrade
from tests.store.cleaner import cleaner

LARGE_BYTES = 256 * 1024  # of dead rows, which every look at the table reads
# What may have changed besides rows: catalogues by their newest transaction, statistics, settings.
# TRUNCATE, which gives a table another file, changes nothing here.
STAMP = """
SELECT (SELECT sum(hashtextextended(concat_ws(' ', oid, relname, relowner, relacl, reloptions, relrowsecurity,
                                              CASE WHEN relkind IN ('r', 'p') THEN reltuples >= 0 END), 0))
        FROM pg_class),
       (SELECT count(*) FROM pg_statistic_ext), (SELECT count(*) FROM pg_extension),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_attribute),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_attrdef),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_constraint),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_description),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_inherits),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_namespace),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_proc),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_rewrite),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_trigger),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_type),
       (SELECT concat_ws(' ', count(*), max(xmin::text::bigint)) FROM pg_db_role_setting),
       (SELECT concat_ws(' ', oid, xmin) FROM pg_database WHERE datname = current_database())
"""
LARGE = """
SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > %s
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid, 10_000) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> ALL(%s)
"""


class Databases:
    """server: URL of a database that is always there."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._lent = ""
        self._stamp: Any = None
        upgrade(self._create("template", None))

    def make(self) -> str:
        """URL of a fresh, migrated, empty database."""
        return self._create(f"test_{next(self._numbers)}", "template")

    def copy(self, url: str) -> str:
        """URL of another one with the rows and statistics of this one, which nobody is connected to."""
        return self._create(f"test_{next(self._numbers)}", urlsplit(url).path[1:])

    def lend(self) -> str:
        """URL of an empty one, which another module may have had."""
        if not self._lent:
            self._lent = self.make()
            self._stamp = self._emptied()
        return self._lent

    def take_back(self) -> None:
        """Empty the one that was lent, for the next module; drop it if more than rows was changed."""
        try:
            is_as_it_was = self._emptied() == self._stamp
        except psycopg.Error:
            is_as_it_was = False
        if not is_as_it_was:
            cleaner.forget()
            name = sql.Identifier(urlsplit(self._lent).path[1:])
            self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            self._lent = ""

    def _emptied(self) -> Any:
        """End the connections that tests left open, and remove all rows. Returns the stamp."""
        connection = cleaner.connection(self._lent)
        connection.execute(END_OTHERS, [cleaner.backends()])
        cleaner.engine(self._lent)
        (large,) = connection.execute(LARGE, [LARGE_BYTES]).fetchone() or (None,)
        if large:
            connection.execute(f"TRUNCATE {large} CASCADE".encode())
        return connection.execute(STAMP).fetchone()

    def _create(self, name: str, template: str | None) -> str:
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template:
            create += sql.SQL(" TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(template))
        self._execute(create)
        return urlunsplit(urlsplit(self._server)._replace(path=f"/{name}"))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(statement)
