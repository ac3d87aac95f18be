"""Decides where an export goes, and puts its files there: a folder, or an object store (S3) by the extra `s3`.

A file appears under its name only when it is whole: it is written beside its place, or in a temporary folder, first.
"""

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Protocol

from app import owned
from app.errors import InputError, ServiceError
from app.extras import to_install
from app.features.archive.place import Remote


class ExportPlace(Protocol):
    """A place for files, each under a name that may have folders in it. shown: the place, for a person."""

    @property
    def shown(self) -> str: ...

    def draft(self, name: str) -> Path:
        """A path to write a file to that is to have this name; its folder is there."""
        ...

    def keep(self, name: str, draft: Path) -> None:
        """Give a written draft its name, replacing an old file."""
        ...

    def get(self, name: str) -> bytes | None:
        """A small file's bytes; None: there is none."""
        ...


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A folder on this machine."""

    root: Path

    @property
    def shown(self) -> str:
        return str(self.root)

    def draft(self, name: str) -> Path:
        path = self.root / name
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            _make_real(self.root / folder)
        return path.with_name(f".{path.name}.part")

    def keep(self, name: str, draft: Path) -> None:
        draft.replace(self.root / name)

    def get(self, name: str) -> bytes | None:
        try:
            return (self.root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


@dataclass(frozen=True, slots=True)
class ObjectTarget:
    """A prefix in an object store. Drafts lie in a temporary folder: a part has to fit there."""

    remote: Remote
    folder: Path

    @property
    def shown(self) -> str:
        return self.remote.url

    def draft(self, name: str) -> Path:
        return self.folder / name.replace("/", "-")

    def keep(self, name: str, draft: Path) -> None:
        with _of_export(self.remote):
            self.remote.put(draft, name)
        draft.unlink()

    def get(self, name: str) -> bytes | None:
        with _of_export(self.remote):
            size = self.remote.size(name)
            return self.remote.read(name, at=0, length=size) if size else None


def put(place: ExportPlace, name: str, text: str) -> None:
    """Write a whole file."""
    draft = place.draft(name)
    with open(draft, "w", encoding="utf-8", opener=owned.open_draft) as file:
        file.write(text)
    place.keep(name, draft)


def _make_real(folder: Path) -> None:
    """Make a folder unless it is there. A link in its place would lead out of the export: it is an error."""
    try:
        folder.mkdir()
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is no folder") from None


@contextmanager
def opened(to: str, *, endings: Sequence[str]) -> Iterator[tuple[ExportPlace, str | None]]:
    """The target that a person names, and the name of the file if it is a single one. Raises InputError.

    to: a folder, a file, or s3://bucket/prefix/; what has no ending, or a slash at its end, is a folder.
    endings: that a file may have; none: the format writes many files, and a file cannot be meant
    """
    folder, name = _split(to, endings)
    if not folder.startswith("s3://"):
        found = FolderTarget(_made(Path(folder)))
        with _alone(to, found.root if name is None else found.draft(name)):
            yield found, name
        return
    with tempfile.TemporaryDirectory(prefix="tiptoe-export-") as temporary:
        yield ObjectTarget(_remote(folder), Path(temporary)), name


@contextmanager
def writing(target: ExportPlace) -> Iterator[None]:
    """Context in which files are written. Raises InputError, in one line, where that cannot be."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"--to {target.shown}", f"cannot be written ({why}); free space or name another place"
        ) from error


@contextmanager
def _alone(to: str, path: Path) -> Iterator[None]:
    """Context in which no other export writes there: two would write one draft. Raises InputError.

    path: of the folder, or of a single file's draft
    """
    try:
        flags = 0 if os.path.isdir(path) else os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        held = os.open(path, os.O_RDONLY | flags, 0o666)
    except OSError as error:
        raise InputError(f"--to {to}", f"cannot be written ({error.strerror}); name another place") from error
    try:
        with suppress(OSError):  # a file system that locks nothing
            _lock(to, held)
        yield
    finally:
        os.close(held)


def _lock(to: str, held: int) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"--to {to}", "is being written by another export; wait for it or name another place"
        ) from None


def _split(to: str, endings: Sequence[str]) -> tuple[str, str | None]:
    """(folder, file in it or None)."""
    scheme, colon, rest = to.partition("://")
    if to.strip() in {"", "-"} or (colon and (scheme != "s3" or not rest.strip("/"))):
        raise InputError(
            f"--to {to}", "is not a place that can be written to; name a file, a folder or s3://bucket/prefix/"
        )
    last = to.rstrip("/").rpartition("/")[2]
    is_bucket = bool(colon) and to.count("/") < 3
    if to.endswith("/") or is_bucket or "." not in last.strip(".") or (not colon and os.path.isdir(to)):
        return to, None
    if not last.endswith(tuple(f".{ending}" for ending in endings)):
        remedy = (
            f"name a folder, or a file that ends in {_alternatives([f'.{ending}' for ending in endings])}"
            if endings
            else "this format writes a file for each page; name a folder"
        )
        raise InputError(f"--to {to}", remedy)
    return to[: -len(last)] or ".", last


def _alternatives(names: Sequence[str]) -> str:
    """The names in a sentence: `.jsonl, .csv or .parquet`."""
    return " or ".join([*filter(None, [", ".join(names[:-1])]), names[-1]])


def _made(folder: Path) -> Path:
    """The folder, made. Raises InputError where files cannot be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(f"--to {folder}", f"cannot be written ({error.strerror}); name another folder") from error


def _remote(url: str) -> Remote:
    """The object store, which answers. Raises InputError without its library, ServiceError."""
    if find_spec("obstore") is None:
        raise InputError(f"--to {url}", f"needs obstore; {to_install('s3')}")
    remote = Remote(url)
    with _of_export(remote):
        remote.check()
    return remote


@contextmanager
def _of_export(remote: Remote) -> Iterator[None]:
    """Say the store's errors of the export, not of the archive."""
    try:
        yield
    except ServiceError as error:
        raise ServiceError(f"--to {remote.url}", error.remedy) from error
