"""Every command against databases as administrators hand them over, and against each class of Postgres' errors: a line.

A command works, or ends in one line that names the database, what is wrong and what to do. Nothing hangs, and nothing
ends in a traceback.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from app.local.home import open_home
from app.local.services import Services
from tests.cli.conftest import Ran, run
from tests.cli.lines import CREATES, ELSEWHERE, UPGRADES, typed
from tests.cli.test_commands import commands

pytestmark = pytest.mark.faults

PASSWORD = "p"  # of a role of the test's own server
Admin = Callable[..., None]


@pytest.fixture(scope="module")
def admin(services: Services) -> Admin:
    """Runs statements as the superuser, in a database of this name."""

    def execute(database: str, *statements: str) -> None:
        known = open_home(services.home).recall("postgres")
        who = {"user": "postgres", "password": known["admin_password"], "dbname": database}
        with psycopg.connect(host="127.0.0.1", port=known["port"], autocommit=True, **who) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    return execute


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broker_url: str, services: Services) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeds.txt").write_text("http://h.test/\n")
    monkeypatch.setenv("TIPTOE_CONTACT", "you@example.org")
    monkeypatch.setenv("TIPTOE_BROKER_URL", broker_url)
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TIPTOE_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("TIPTOE_RESOLVE", "h.test=127.0.0.1")


@contextmanager
def handed_over(
    admin: Admin, name: str, *, made: str = "TEMPLATE template0", then: tuple[str, ...] = ()
) -> Iterator[str]:
    """A database of a role `usual`, which is no superuser and owns nothing. Yields its name."""
    admin("postgres", f"CREATE DATABASE {name} {made}", f"CREATE ROLE usual LOGIN PASSWORD '{PASSWORD}'")
    try:
        admin(name, *then)
        yield name
    finally:
        admin("postgres", f"DROP DATABASE {name} WITH (FORCE)", "DROP ROLE usual")


def url_of(services: Services, name: str, user: str = f"usual:{PASSWORD}") -> str:
    where = urlsplit(services.database_url)
    return urlunsplit(where._replace(netloc=f"{user}@{where.hostname}:{where.port}", path=f"/{name}"))


def refused(
    monkeypatch: pytest.MonkeyPatch, url: str, line: str, but: Callable[[str], str | None], but_for: str = ""
) -> int:
    """How many commands end in this line, or the one that `but` has for them; no other ending is seen."""
    monkeypatch.setenv("TIPTOE_DATABASE_URL", url)
    n = 0
    for words, command in commands():
        if ELSEWHERE.match(words) or words == but_for:
            continue
        ran = run(*typed(words, command))
        check_one_line(words, ran, but(words) or line)
        n += 1
    return n


def check_one_line(words: str, ran: Ran, line: str) -> None:
    if words == "tiptoe doctor":
        assert ran.code == 1, ran
        assert re.search(line, " ".join(ran.out.split())), ran
        return
    told = [each for each in ran.err.splitlines() if not each.startswith("warning: ")]
    assert (ran.code, len(told)) == (1, 1), (words, ran)
    assert told[0].startswith("tiptoe: "), (words, ran)
    assert re.search(line, told[0]), (words, ran)


def nothing(words: str) -> str | None:
    return None


NO_SCHEMA = "no schema yet, and this Tiptoe wants|none yet, head is"
MAY_NOT_CREATE = "GRANT USAGE, CREATE ON SCHEMA public TO usual"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_JP"])
def test_an_encoding_that_does_not_hold_all_texts(
    admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    made = f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    with handed_over(admin, "usual_encoding", made=made, then=("GRANT ALL ON SCHEMA public TO usual",)) as name:
        line = f"the database {name}: is in {encoding}.*createdb -E UTF8"
        assert refused(monkeypatch, url_of(services, name), line.replace(": ", ".*"), nothing) > 40


# statements, the line of those that may create a schema, the line of the others
RIGHTS = [
    ((), MAY_NOT_CREATE, NO_SCHEMA),
    (("REVOKE ALL ON SCHEMA public FROM PUBLIC",), MAY_NOT_CREATE, f"{MAY_NOT_CREATE}|none yet, head is"),
]


@pytest.mark.parametrize(("then", "creates", "reads"), RIGHTS)
def test_no_right_to_create(
    admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch, then: tuple[str, ...], creates: str, reads: str
) -> None:
    with handed_over(admin, "usual_rights", then=then) as name:
        but = dict.fromkeys(UPGRADES | CREATES, creates)
        assert refused(monkeypatch, url_of(services, name), reads, but.get) > 40


ROLE = "usual-role"  # as clouds name them


def test_the_grant_may_be_run_as_it_stands(admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQL wants in quotes is in quotes, and what is missing is named: here the right to temporary tables."""
    admin("postgres", 'CREATE DATABASE "usual-own" TEMPLATE template0', f"CREATE ROLE \"{ROLE}\" LOGIN PASSWORD 'p'")
    try:
        admin("usual-own", 'REVOKE TEMPORARY ON DATABASE "usual-own" FROM PUBLIC', 'CREATE SCHEMA "Of-own"')
        admin("usual-own", f'GRANT USAGE ON SCHEMA "Of-own" TO "{ROLE}"')
        admin("postgres", f'ALTER ROLE "{ROLE}" SET search_path = "Of-own"')
        monkeypatch.setenv("TIPTOE_DATABASE_URL", url_of(services, "usual-own", f"{ROLE}:p"))
        for _ in range(2):
            said = run("db", "upgrade").err
            grant = re.search(r"GRANT .+? TO \S+?(?=;|$)", said, re.MULTILINE)
            assert grant, said
            admin("usual-own", grant[0])
        assert run("db", "upgrade").code == 0
    finally:
        admin("postgres", 'DROP DATABASE "usual-own" WITH (FORCE)', f'DROP ROLE "{ROLE}"')


def migrated(make_database: Callable[[], str]) -> str:
    return urlsplit(make_database()).path[1:]


def test_a_role_without_rights_on_the_tables(
    admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch, make_database: Callable[[], str]
) -> None:
    made = f"TEMPLATE {migrated(make_database)}"
    with handed_over(admin, "usual_tables", made=made) as name:
        line = "permission denied.*GRANT ALL ON ALL TABLES IN SCHEMA public TO usual"
        assert refused(monkeypatch, url_of(services, name), line, nothing) > 40


# user and password, database, the line
NO_ENTRY = [
    ("usual:wrong", "usual_entry", "password authentication failed"),
    ("nobody:x", "usual_entry", "password authentication failed"),
    (f"usual:{PASSWORD}", "usual_not_there", 'database "usual_not_there" does not exist'),
]


@pytest.mark.parametrize(("user", "database", "line"), NO_ENTRY)
def test_no_entry(
    admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch, user: str, database: str, line: str
) -> None:
    with handed_over(admin, "usual_entry"):
        assert refused(monkeypatch, url_of(services, database, user), line, nothing) > 40


# SQLSTATE, the remedy. Not 00 to 02, which are no errors, nor 22 and 23: by the values to write (Unwritable).
CLASSES = [
    ("08006", "check the network"),
    ("0A000", "Postgres 15 or newer"),
    ("25006", "target_session_attrs=read-write"),
    ("25P03", "see Postgres' log"),
    ("25P04", "transaction_timeout"),
    ("28000", "correct the user and the password"),
    ("2D000", "see Postgres' log"),
    ("3D000", "create the database"),
    ("3F000", "GRANT ALL ON ALL TABLES"),
    ("40001", ""),
    ("40P01", ""),
    ("42501", "GRANT ALL ON ALL TABLES"),
    ("42P07", "createdb NAME"),
    ("42703", "tiptoe db upgrade"),
    ("53100", "make room on Postgres' disk"),
    ("53200", "more memory"),
    ("53300", "max_connections"),
    ("54000", ""),
    ("55P03", "end the session"),
    ("57014", "statement_timeout"),
    ("57P05", "idle_session_timeout"),
    ("57P03", "try again when Postgres is up"),
    ("58030", "see Postgres' log"),
    ("F0000", "see Postgres' log"),
    ("P0001", "trigger or a function of your own"),
    ("XX001", "see Postgres' log"),
]
RAISES = (
    "ALTER TABLE alembic_version RENAME TO alembic_version_kept",
    "CREATE FUNCTION refuse() RETURNS text LANGUAGE plpgsql AS $$ BEGIN"
    " RAISE EXCEPTION USING ERRCODE = current_setting('usual.sqlstate'), MESSAGE = 'said by Postgres'; END $$",
    "CREATE VIEW alembic_version AS SELECT refuse() AS version_num",
    "GRANT SELECT ON alembic_version TO usual",
)


def test_each_class_of_postgres_errors(
    admin: Admin, services: Services, monkeypatch: pytest.MonkeyPatch, make_database: Callable[[], str]
) -> None:
    made = f"TEMPLATE {migrated(make_database)}"
    with handed_over(admin, "usual_classes", made=made, then=RAISES) as name:
        for sqlstate, remedy in CLASSES:
            admin("postgres", f"ALTER DATABASE {name} SET usual.sqlstate = '{sqlstate}'")
            line = f"said by Postgres.*{remedy}"
            # doctor waits seconds for workers, and was tried with the others
            assert refused(monkeypatch, url_of(services, name), line, nothing, "tiptoe doctor") > 40


def test_every_role_is_as_it_was(admin: Admin, services: Services) -> None:
    with psycopg.connect(services.database_url) as connection:
        found = connection.execute(sql.SQL("SELECT rolname FROM pg_roles WHERE rolname = 'usual'")).fetchall()
    assert found == []
