"""Chooses the embedded Postgres' data folder and user.

**As root** Postgres refuses to run, so it runs as `nobody` (or as whoever owns the data). If nobody can
reach home, the data lies in /var/tmp/tiptoe-<hash of home's path>/, a folder of our own that the log names;
programs that nobody cannot run are copied beside the data. We try whether it can, rather than infer it from
modes.
"""

import contextlib
import hashlib
import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from app.errors import ServiceError
from app.extras import to_install
from app.local.binaries import PostgresPrograms, postgres_programs
from app.local.home import Home, Log

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
