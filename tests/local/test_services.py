"""The embedded servers for real: started, shared, killed, found again."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from app.browser import guard
from app.errors import InputError, ServiceError
from app.local import postgres as place
from app.local import supervisor
from app.local.home import is_held, open_home
from app.local.running import postgres_programs
from app.local.services import LocalServices, Services, data_dir, start_postgres, start_valkey
from app.local.supervisor import keeper_id
from app.sandbox.child import NAMES
from tests.faults.waiting import until
from tests.local.served import (
    NO_RETRY,
    Commands,
    answers,
    ask,
    both,
    end,
    first_line,
    keep_something,
    processes_in,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as another user")


@pytest.fixture
def home(reachable_tmp: Path) -> Iterator[Path]:
    """The same for all tests here (making a database costs a second); nothing runs in it before or after a test."""
    folder = reachable_tmp / "shared"
    yield folder
    until(lambda: not processes_in(folder), f"no process is left in {folder}")


@pytest.fixture
def own_home(reachable_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """For tests that damage it."""
    folder = reachable_tmp / request.node.name
    yield folder
    until(lambda: not processes_in(folder), f"no process is left in {folder}")


@pytest.fixture
def commands(home: Path) -> Iterator[Commands]:
    others = Commands()
    yield others
    others.kill_all()


def test_both_answer_and_no_secret_is_shown(services: Services) -> None:
    assert ask(services.database_url, "SHOW server_encoding") == "UTF8"
    assert ask(services.database_url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
    assert ask(services.database_url, "SELECT upper('ä') || lower('Σ')") == "Äσ"
    with redis.Redis.from_url(services.broker_url) as broker:
        assert broker.ping()
        assert broker.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    password = urlsplit(services.database_url).password
    assert password
    assert password not in repr(services)
    assert (services.home / "services.json").stat().st_mode & 0o077 == 0
    assert not any(password in line for line in processes_in(services.home))


def test_neither_answers_without_its_password(services: Services) -> None:
    database, broker = urlsplit(services.database_url), urlsplit(services.broker_url)
    for role in ("tiptoe", "postgres"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"postgresql://{role}@127.0.0.1:{database.port}/tiptoe", connect_timeout=5)
    with redis.Redis(port=broker.port or 0, retry=NO_RETRY) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_restart_keeps_data_and_port_and_leaves_nothing_running(home: Path) -> None:
    with both(home) as first:
        assert ask(first.database_url, "SHOW fsync") == ask(first.database_url, "SHOW synchronous_commit") == "on"
        keep_something(first.database_url)
        assert first.started == ("postgres", "valkey")
    assert processes_in(home) == []
    with both(home) as second:
        assert second.database_url == first.database_url
        assert ask(second.database_url, "SELECT count(*) FROM kept") == 1


def test_busy_port_of_last_time_is_replaced(home: Path) -> None:
    start_postgres(home, print).release()
    start_valkey(home, print).release()
    ports = [open_home(home).recall(name)["port"] for name in ("postgres", "valkey")]
    with (
        socket.create_server(("127.0.0.1", ports[0])),
        socket.create_server(("127.0.0.1", ports[1])),
        both(home) as s,
    ):
        assert urlsplit(s.database_url).port not in ports
        assert ask(s.database_url, "SELECT 1") == 1


def test_home_may_be_moved(own_home: Path) -> None:
    with start_postgres(own_home, print) as first:
        keep_something(first.url)
    moved = own_home.rename(own_home.with_name("moved"))
    with start_postgres(moved, print) as second:
        assert ask(second.url, "SELECT count(*) FROM kept") == 1


def test_a_database_that_home_does_not_know_is_set_aside(own_home: Path) -> None:
    start_postgres(own_home, print).release()
    (own_home / "services.json").unlink()
    told: list[str] = []
    with start_postgres(own_home, told.append) as second:
        assert ask(second.url, "SELECT 1") == 1
    [aside] = data_dir(own_home).parent.glob("postgres.aside-*")
    assert str(aside) in "".join(told)


def test_configured_services_are_left_alone(own_home: Path) -> None:
    with LocalServices(own_home, database_url="postgresql://x/y", broker_url="amqp://z", log=print) as services:
        assert (services.database_url, services.broker_url) == ("postgresql://x/y", "amqp://z")
        assert services.started == ()
    assert not own_home.exists()


def test_only_what_is_not_configured_is_started(own_home: Path) -> None:
    with LocalServices(own_home, database_url="postgresql://x/y", broker_url=None, log=print) as services:
        assert services.started == ("valkey",)


def test_second_command_joins_and_the_last_one_out_stops(home: Path, commands: Commands) -> None:
    child = commands.start(home)
    told = first_line(child)
    with both(home) as services:
        assert services.started == ()
        assert services.database_url in told
        end(child)  # the one that started them leaves first
        assert ask(services.database_url, "SELECT 1") == 1
        with start_postgres(home, print) as third:
            assert not third.started
        assert ask(services.database_url, "SELECT 1") == 1
    assert processes_in(home) == []


def test_commands_that_start_at_once_start_one_server(home: Path, commands: Commands) -> None:
    """One of each kind: while one command starts Postgres, another may start Valkey."""
    children = [commands.start(home) for _ in range(3)]
    told = [first_line(child).split(" postgresql:")[0] for child in children]
    assert sorted(re.findall(r"\w+", " ".join(told))) == ["postgres", "valkey"]
    for child in children:
        end(child)
    assert processes_in(home) == []


@pytest.mark.faults
def test_killed_command_leaves_nothing_running_and_the_next_starts(home: Path, commands: Commands) -> None:
    child = commands.start(home)
    told = first_line(child)
    keep_something(told.split()[-1])
    commands.kill_all()
    until(lambda: not processes_in(home), f"no process is left in {home}")
    with both(home) as services:
        assert ask(services.database_url, "SELECT count(*) FROM kept") == 1


@pytest.mark.faults
def test_next_command_right_after_a_kill(home: Path, commands: Commands) -> None:
    first_line(commands.start(home))
    commands.kill_all()
    with both(home) as services:  # joins, or waits for the stop and starts
        assert ask(services.database_url, "SELECT 1") == 1


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux'")
def test_killed_keeper_and_postgres_are_survived(home: Path, commands: Commands) -> None:
    child = commands.start(home)
    told = first_line(child)
    keep_something(told.split()[-1])
    for name in ("postgres", "valkey"):
        os.kill(keeper_id(home / "run" / f"{name}.keeper") or 0, signal.SIGKILL)
    os.kill(int((data_dir(home) / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    commands.kill_all()
    with both(home) as services:
        assert ask(services.database_url, "SELECT count(*) FROM kept") == 1


def test_stale_pid_file_naming_a_living_process_is_no_obstacle(home: Path) -> None:
    start_postgres(home, print).release()
    (data_dir(home) / "postmaster.pid").write_text(f"{os.getppid()}\n{data_dir(home)}\n")
    with start_postgres(home, print) as running:
        assert ask(running.url, "SELECT 1") == 1


def test_a_server_that_cannot_start_says_why(own_home: Path) -> None:
    start_postgres(own_home, print).release()
    (data_dir(own_home) / "yours.conf").write_text("shared_buffers = lots\n")
    with pytest.raises(ServiceError, match=r"postgres does not start: see .*postgres\.log: .*shared_buffers"):
        start_postgres(own_home, print)
    assert not is_held(own_home / "run" / "postgres.users")


def test_failure_of_the_second_gives_up_the_first(own_home: Path) -> None:
    (own_home / "valkey" / "valkey.conf").mkdir(parents=True)  # in the way
    with pytest.raises(OSError, match="valkey"):
        both(own_home).__enter__()
    assert processes_in(own_home) == []


def test_home_removed_while_in_use_stops_the_servers_all_the_same(own_home: Path) -> None:
    with start_valkey(own_home, print):
        shutil.rmtree(own_home)
    until(lambda: not processes_in(own_home), f"no process is left in {own_home}")


@pytest.mark.faults
def test_a_server_that_falls_over_comes_back_on_its_port(home: Path) -> None:
    with start_valkey(home, print) as running, redis.Redis.from_url(running.url, retry=NO_RETRY) as broker:
        before = broker.info("server")
        until(lambda: broker.info("server")["uptime_in_seconds"] > supervisor.LIVED_S, "it has lived for long")
        os.kill(before["process_id"], signal.SIGKILL)
        until(lambda: answers(broker), "the broker answers")
        assert broker.info("server")["run_id"] != before["run_id"]


def test_unwritable_home_is_named_with_the_remedy(reachable_tmp: Path) -> None:
    (reachable_tmp / "file").write_text("")
    with pytest.raises(InputError, match=r"TIPTOE_HOME='.*/file/home': cannot be written .*; set TIPTOE_HOME"):
        start_valkey(reachable_tmp / "file" / "home", print)


@as_root
def test_home_that_nobody_can_reach(tmp_path: Path) -> None:
    told: list[str] = []
    home = tmp_path / "home"
    tmp_path.chmod(0o700)
    try:
        with start_postgres(home, told.append) as running:
            outside = data_dir(home).parent
            assert outside.parent == place.OUTSIDE
            assert str(outside) in "".join(told)
            assert data_dir(home).stat().st_mode & 0o077 == 0
            keep_something(running.url)
        with start_postgres(home, print) as running:
            assert ask(running.url, "SELECT count(*) FROM kept") == 1
    finally:
        subprocess.run(["rm", "-rf", "--", data_dir(home).parent], check=True)


def modes_of(home: Path, *names: str) -> dict[str, int]:
    return {name: (home / name).stat().st_mode & 0o777 for name in names}


def test_a_home_is_its_owners_alone(own_home: Path) -> None:
    """Of an earlier version it could be read by all. As root, Postgres' user passes, and reads nothing but its own."""
    (own_home / "archive").mkdir(parents=True)
    (own_home / "valkey").mkdir()
    open_home(own_home)
    for folder in (own_home, *own_home.iterdir()):
        if folder.is_dir():
            folder.chmod(0o755)
    open_home(own_home)
    whole = 0o711 if os.geteuid() == 0 else 0o700
    inside = ("run", "logs", "valkey", "archive")
    assert modes_of(own_home, ".", *inside) == {".": whole, **dict.fromkeys(inside, 0o700)}
    own_home.chmod(0o700)
    open_home(own_home)
    assert own_home.stat().st_mode & 0o777 == 0o700, "what somebody closed is not opened"


def test_a_new_home_is_its_owners_alone_whatever_the_umask(own_home: Path) -> None:
    before = os.umask(0o027)
    try:
        open_home(own_home)
    finally:
        os.umask(before)
    assert own_home.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)


@as_root
def test_a_home_of_an_earlier_version_is_found_and_its_server_is_neither_ours_nor_chromiums(own_home: Path) -> None:
    with LocalServices(own_home, database_url=None, broker_url=None, log=print) as services:
        keep_something(services.database_url)
    for folder in (own_home, own_home / "run", own_home / "logs"):
        folder.chmod(0o755)  # as they were made until 0.3
    with LocalServices(own_home, database_url=None, broker_url=None, log=print) as services:
        assert ask(services.database_url, "SELECT count(*) FROM kept") == 1
        pid = int((services.data_dir / "postmaster.pid").read_text().split("\n", 1)[0])
        assert Path(f"/proc/{pid}").stat().st_uid not in {0, guard.UID}
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        assert {entry.partition(b"=")[0].decode() for entry in environment if entry} <= {*NAMES, "LC_ALL"}
    assert modes_of(own_home, "postgres") == {"postgres": 0o700}


def test_a_database_that_cannot_be_made_is_reported_in_one_line(own_home: Path) -> None:
    """As on a disk that is full by then."""
    with start_postgres(own_home, print) as running:
        port, known = urlsplit(running.url).port, open_home(own_home).recall("postgres")
        admin = f"postgresql://postgres:{known['admin_password']}@127.0.0.1:{port}/postgres"
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("DROP DATABASE tiptoe")
            connection.execute("ALTER ROLE postgres SET default_transaction_read_only = on")
    line = r"the database in .* cannot be made: cannot execute CREATE DATABASE .*; free space, or see .*postgres\.log$"
    with pytest.raises(ServiceError, match=line):
        start_postgres(own_home, print)


@as_root
def test_programs_that_nobody_can_reach_are_copied(reachable_tmp: Path) -> None:
    programs = postgres_programs()
    copy = programs.copied_to(reachable_tmp)
    assert copy == programs.copied_to(reachable_tmp)
    for name in ("initdb", "postgres"):
        argv = [str(copy.folder / name), "--version"]
        done = subprocess.run(argv, user="nobody", extra_groups=[], cwd="/", capture_output=True, text=True, check=True)
        assert programs.version in done.stdout
