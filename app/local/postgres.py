"""The embedded Postgres: made by initdb once, then run by a keeper while commands use it.

It listens on 127.0.0.1 alone, on a port that is chosen free at the first start and kept while it can be, and
knows two roles by password (SCRAM): `postgres`, and `tiptoe`, which owns the database `tiptoe` and is no
superuser. Settings of yours go into `<data>/yours.conf`; ours are written to `<data>/tiptoe.conf` at each
start and keep every commit durable.

`app.local.postgres` chooses its folder and user, for root above all. That is remembered in home's
services.json; a database that home does not remember (home was removed) is set aside, never reused and never
deleted.

Plain SQL strings live here and not in the store: they make the role and the database before there is a store.
"""

import contextlib
import hashlib
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from app.errors import ServiceError
from app.extras import to_install
from app.local.children import spawn
from app.local.home import Home, Log
from app.local.running import (
    PostgresPrograms,
    clear_orphans,
    fingerprint,
    free_port,
    installed_postgres,
    postgres_programs,
)
from app.local.supervisor import Recipe, server_environment

# Chooses the embedded Postgres' data folder and user.
#
# **As root** Postgres refuses to run, so it runs as `nobody` (or as whoever owns the data). If nobody can
# reach home, the data lies in /var/tmp/tiptoe-<hash of home's path>/, a folder of our own that the log names;
# programs that nobody cannot run are copied beside the data. We try whether it can, rather than infer it from
# modes.


OUTSIDE = Path("/var/tmp")  # survives a reboot, unlike /tmp (FHS 5.15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The data's folder and the server's user. user, group: None for our own."""

    data: Path
    programs: PostgresPrograms
    user: int | None
    group: int | None

    def give(self, path: Path) -> None:
        """Make the server's user the owner of a file of ours."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)


def choose(home: Home, known: Path | None, log: Log) -> Place:
    """Decide on the data's folder, the programs and the user. known: the data's folder of earlier starts."""
    data = known if known and (known / "PG_VERSION").exists() else None
    programs = postgres_programs(_major(data) if data else None)
    if not programs.wheel:
        log(f"Postgres {programs.version} of {programs.folder} runs: tiptoe[local] is missing, or unfit")
    user, group = _whom(data) if os.geteuid() == 0 else (None, None)
    if user is None:
        return Place(data=data or home.root / "postgres", programs=programs, user=None, group=None)
    base = data.parent if data else _base(home, user)
    if base != home.root:
        name = pwd.getpwuid(user).pw_name
        log(f"database files: {base} (the user {name} runs Postgres)")
    if not _can(user, group, [str(programs.folder / "initdb"), "--version"]):
        programs = _within_reach(programs, base, user)
    return Place(data=data or base / "postgres", programs=programs, user=user, group=group)


def _base(home: Home, user: int) -> Path:
    """Home if that user can reach it, else a folder of our own outside."""
    if _can(user, None, ["/bin/sh", "-c", 'cd "$0"', str(home.root)]):
        return home.root
    name = hashlib.sha256(str(home.root).encode()).hexdigest()[:16]
    base = OUTSIDE / f"tiptoe-{name}"
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o711)
    found = base.lstat()
    if base.is_symlink() or not base.is_dir() or found.st_uid != 0 or found.st_mode & 0o022:
        raise ServiceError(str(base), "is not owned by root alone; remove it")
    base.chmod(0o711)  # whatever the umask said
    return base


def _major(data: Path) -> int:
    return int((data / "PG_VERSION").read_text().split(".")[0])


def _whom(data: Path | None) -> tuple[int, int]:
    """The user for root's server: the data's owner, else nobody."""
    try:
        uid = data.stat().st_uid if data is not None else 0
        owner = pwd.getpwuid(uid) if uid else pwd.getpwnam("nobody")
    except KeyError as error:
        raise ServiceError("no user `nobody` to run Postgres as", "run as another user than root") from error
    return owner.pw_uid, owner.pw_gid


def _can(user: int, group: int | None, argv: list[str]) -> bool:
    """Whether this command works for that user."""
    try:
        done = subprocess.run(argv, user=user, group=group, extra_groups=[], cwd="/", capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _within_reach(programs: PostgresPrograms, base: Path, user: int) -> PostgresPrograms:
    name = pwd.getpwuid(user).pw_name
    if not programs.wheel:
        raise ServiceError(f"{programs.folder} cannot be run by {name}", to_install("local"))
    copy = programs.copied_to(base)
    if not _can(user, None, [str(copy.folder / "initdb"), "--version"]):
        raise ServiceError(f"programs in {base} cannot be run by {name} (noexec?)", "set TIPTOE_HOME elsewhere")
    return copy


CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_COMPLAINT = re.compile(r"(?:FATAL|initdb: error): +(.+?)\.?\n(?:.*HINT: +(.+?)\.?\n)?")
BUILTIN_LOCALE_SINCE = 17  # C.UTF-8 by Postgres itself: its order never changes and is equal on every system

CONF = """\
# Written by tiptoe at each start. Your own settings: yours.conf.
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
cluster_name = 'tiptoe'
max_connections = 200
password_encryption = 'scram-sha-256'
timezone = 'UTC'
log_timezone = 'UTC'

shared_buffers = {buffers_mb}MB             # taken as the frontier grows into it; docs/scaling.md
work_mem = 8MB                      # a parallel hash join stays below a container's 64 MB of /dev/shm
maintenance_work_mem = 128MB
effective_cache_size = {cache_mb}MB
random_page_cost = 1.1
jit = off                           # its compile time exceeds our queries'

fsync = on
synchronous_commit = on
wal_level = minimal                 # nobody replicates it
max_wal_senders = 0
max_logical_replication_workers = 0
wal_compression = off               # pglz is all it has, and slow: docs/scaling.md, whole pages
max_wal_size = 2GB
checkpoint_timeout = 15min

autovacuum_naptime = 15s            # queues turn over their rows all day
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_cost_limit = 2000

log_min_messages = warning
log_checkpoints = off
log_line_prefix = '%m [%p] '
include 'yours.conf'
"""


class Postgres:
    """The Postgres of a home, a `Server` for `app.local.running`."""

    name = "postgres"

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def data(self) -> Path:
        return self._home.root / self._fact("data")

    def url(self) -> str:
        return f"postgresql://tiptoe:{self._fact('password')}@127.0.0.1:{self._fact('port')}/tiptoe"

    def prepare(self, log: Log) -> Recipe:
        known = self.data if self._home.recall(self.name) else None
        place = choose(self._home, known, log)
        self._clear(place.data, log)
        if place.data != known or not (place.data / "PG_VERSION").exists():
            self._create(place, log)
        port = free_port(self._home.recall(self.name).get("port"))
        self._home.remember(self.name, self._home.recall(self.name) | {"port": port})
        _configure(place.data, port)
        return Recipe(
            argv=(str(place.programs.folder / "postgres"), "-D", str(place.data)),
            cwd=str(place.data),
            user=place.user,
            group=place.group,
            stop_signal=signal.SIGINT,  # fast shutdown (server-shutdown.html)
            stop_s=120.0,
            log=str(self._home.logs / "postgres.log"),
            users=str(self._home.run / "postgres.users"),
            keeper=str(self._home.run / "postgres.keeper"),
        )

    def is_ready(self) -> bool:
        try:
            with self._connect_as_admin() as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError:
            return False  # not yet up; or another server took our port: then ours ends and is started again
        return row is not None and Path(row[0]) == self.data

    def furnish(self) -> None:
        try:
            with self._connect_as_admin() as connection:
                self._furnish(connection)
        except psycopg.Error as error:
            why, log = str(error).partition("\n")[0], self._home.logs / "postgres.log"
            raise ServiceError(
                f"the database in {self.data} cannot be made", f"{why}; free space, or see {log}"
            ) from error

    def _furnish(self, connection: "psycopg.Connection[tuple[str, ...]]") -> None:
        """Make our role and our database, where they are not there."""
        if connection.execute("SELECT FROM pg_roles WHERE rolname = 'tiptoe'").fetchone() is None:
            password = sql.Literal(self._fact("password"))
            connection.execute(sql.SQL("CREATE ROLE tiptoe LOGIN CREATEDB PASSWORD {}").format(password))
            connection.execute("GRANT pg_monitor, pg_checkpoint, pg_signal_backend TO tiptoe")
        if connection.execute("SELECT FROM pg_database WHERE datname = 'tiptoe'").fetchone() is None:
            connection.execute("CREATE DATABASE tiptoe OWNER tiptoe")

    def version(self) -> str:
        known = self._home.recall(self.name)
        return fingerprint(CONF, *installed_postgres(), self.data / "yours.conf") if "data" in known else ""

    def _fact(self, name: str) -> str:
        return self._home.fact(self.name, name)

    def _connect_as_admin(self) -> "psycopg.Connection[tuple[str, ...]]":
        return psycopg.connect(
            host="127.0.0.1",
            port=self._fact("port"),
            user="postgres",
            password=self._fact("admin_password"),
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        )

    def _create(self, place: Place, log: Log) -> None:
        """Run initdb beside the final folder, then rename it: a killed start leaves nothing half-made in use."""
        if place.data.exists():
            aside = place.data.with_name(f"postgres.aside-{int(time.time())}")
            place.data.rename(aside)
            log(f"a database that this home does not know was set aside: {aside}")
        inside = place.data.is_relative_to(self._home.root)  # then home may be moved
        facts = {
            "data": str(place.data.relative_to(self._home.root) if inside else place.data),
            "admin_password": secrets.token_urlsafe(24),
            "password": secrets.token_urlsafe(24),
        }
        self._home.remember(self.name, facts)
        draft, secret = place.data.with_name("postgres.new"), place.data.with_name("postgres.secret")
        secret.unlink(missing_ok=True)
        _write_new(secret, facts["admin_password"], 0o600)
        try:
            place.give(secret)
            self._initdb(place, draft, secret)
        finally:
            secret.unlink()
        with os.fdopen(os.open(draft / "postgresql.conf", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW), "a") as conf:
            conf.write("include 'tiptoe.conf'\n")
        draft.rename(place.data)

    def _initdb(self, place: Place, draft: Path, secret: Path) -> None:
        log_path = self._home.logs / "initdb.log"
        for locale in _locales(place.programs.major):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(mode=0o700)
            place.give(draft)
            options = ["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions"]
            paths = [f"--pgdata={draft}", f"--pwfile={secret}"]
            child = spawn(
                [str(place.programs.folder / "initdb"), *options, *paths, *locale],
                env=server_environment(os.environ),
                log_path=log_path,
                death_signal=signal.SIGKILL,
                user=place.user,
                group=place.group,
                cwd=draft.parent,
            )
            if child.wait() == 0:
                return
        raise ServiceError(f"initdb cannot make a database in {place.data}", f"{complaint(log_path)}see {log_path}")

    def _clear(self, data: Path, log: Log) -> None:
        """Wait for a killed keeper's server to end. Drop its pid file: another process may have the number by now."""
        pid_file = data / "postmaster.pid"
        if pid_file.exists():
            first = pid_file.read_text().split("\n", 1)[0]
            if clear_orphans(data, int(first) if first.isdigit() else -1, signal.SIGINT, log):
                pid_file.unlink(missing_ok=True)


def complaint(log_path: Path) -> str:
    """The last error in initdb's log, with its hint. Empty: there is none."""
    said = _COMPLAINT.findall(log_path.read_text(errors="replace")) if log_path.exists() else []
    return "".join(f"{each}; " for each in said[-1] if each) if said else ""


def _locales(major: int) -> list[list[str]]:
    builtin = [["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]]
    return (builtin if major >= BUILTIN_LOCALE_SINCE else []) + [["--locale=C.UTF-8"], ["--locale=C"]]


def _configure(data: Path, port: int) -> None:
    """Write the configuration.

    As root we write into nobody's folder, so an existing file there is never written through.
    """
    draft = data / "tiptoe.conf.new"
    draft.unlink(missing_ok=True)
    _write_new(draft, _conf(port, _memory_mb()), 0o644)
    draft.replace(data / "tiptoe.conf")
    with contextlib.suppress(FileExistsError):
        _write_new(data / "yours.conf", "# Your own settings for this server.\n", 0o644)


def _conf(port: int, memory_mb: int) -> str:
    """Our settings, with an eighth of the machine's memory as cache: ten million URLs want 3 GB."""
    return CONF.format(port=port, buffers_mb=min(max(memory_mb // 8, 128), 3072), cache_mb=max(memory_mb // 2, 512))


def _memory_mb() -> int:
    """The machine's memory, or a container's share of it."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit in CGROUP_LIMITS:
        with contextlib.suppress(OSError):
            sizes += [int(written) for written in limit.read_text().split() if written.isdigit()]  # "max": none
    return min(sizes) >> 20


def _write_new(path: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
