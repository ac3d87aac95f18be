"""Where the archive is: a folder, and an object store that closed segments go to.

    s3://bucket/prefix  by obstore, the extra `s3`; it reads AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and their like

Raises InputError for a place that cannot be, ServiceError where the store cannot serve.

A closed segment moves to the object store in this order: the index, the segment, its row; then the files here go.
Several processes of a node share the folder; each file is locked by whoever uploads it. A crash anywhere repeats the
upload of one segment, which ends in the same object.
"""

import fcntl
import os
import re
import socket
from collections.abc import Callable, Collection
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import structlog
from sqlalchemy import Engine

from app.errors import ArchiveMissing, InputError, ServiceError, one_line
from app.extras import to_install
from app.features.archive import segment
from app.model import Segment, SegmentState
from app.store import db, segments

_T = TypeVar("_T")
_log = structlog.get_logger()


class ArchivePlace:
    """The folder of the segments, and the object store, if there is one.

    node   name of this machine
    where  as in TIPTOE_ARCHIVE: a folder or s3://bucket/prefix; None: a folder in `home`
    """

    def __init__(self, home: Path, where: str | None) -> None:
        is_store = where is not None and where.startswith("s3://")
        self.folder = (home / "archive" if where is None or is_store else Path(where).expanduser()).absolute()
        self.node = socket.gethostname()
        self.remote = Remote(where) if where is not None and is_store else None

    def __str__(self) -> str:
        return str(self.remote or self.folder)


class Remote:
    """A bucket of an object store. Threads share it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def __str__(self) -> str:
        return self.url

    def place_of(self, name: str) -> str:
        """The URL of an object."""
        return f"{self.url}/{name}"

    def check(self) -> None:
        """Raises ServiceError where the bucket cannot be listed: it is missing, or the credentials are wrong."""
        import obstore

        self._ask(lambda store: next(iter(obstore.list(store, chunk_size=1)), None))

    def put(self, path: Path, name: str) -> None:
        """Store a file. It is there in whole, or not at all."""
        import obstore

        self._ask(lambda store: obstore.put(store, name, path))

    def size(self, name: str) -> int | None:
        """Bytes of an object; None where there is none."""
        import obstore

        try:
            return int(self._ask(lambda store: obstore.head(store, name))["size"])
        except ArchiveMissing:
            return None

    def read(self, name: str, *, at: int, length: int) -> bytes:
        """A part of an object. Raises ArchiveMissing, ServiceError."""
        import obstore

        return bytes(self._ask(lambda store: obstore.get_range(store, name, start=at, length=length)))

    def fetch(self, name: str, path: Path) -> None:
        """Write an object to a file. Raises ArchiveMissing, ServiceError."""
        import obstore

        def write(store: Any) -> None:
            with open(path, "wb") as file:
                for piece in obstore.get(store, name).stream():
                    file.write(piece)

        self._ask(write)

    def delete(self, name: str) -> None:
        import obstore

        try:
            self._ask(lambda store: obstore.delete(store, name))
        except ArchiveMissing:
            return

    def _ask(self, act: Callable[[Any], _T]) -> _T:
        try:
            from obstore.exceptions import BaseError
        except ImportError as error:
            raise InputError(f"TIPTOE_ARCHIVE={self.url}", f"needs obstore; {to_install('s3')}") from error
        try:
            return act(self._store)
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise ServiceError(f"archive at {self.url}", "the bucket does not exist; create it") from error
            raise ArchiveMissing(self.url, "the object store has no such object") from error
        except (BaseError, OSError, ValueError) as error:
            raise ServiceError(f"archive at {self.url}", _why(error)) from error

    @cached_property
    def _store(self) -> Any:
        from obstore.store import from_url

        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        # Obstore panics at others, which would end the thread that uploads.
        if endpoint and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", endpoint):
            raise ServiceError(f"archive at {self.url}", "AWS_ENDPOINT_URL is no address; write http://host:port")
        options: Any = {"timeout": "60s", "connect_timeout": "5s"}
        if endpoint.startswith("http://"):
            options["allow_http"] = True
        patience: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
        return from_url(self.url, client_options=options, retry_config=patience)


def _why(error: BaseException) -> str:
    """The first line of the store's answer, with what would help."""
    text = one_line(str(error).strip()).partition("Debug source")[0].strip()[:300]
    for sign, remedy in (
        # Asked of Amazon's machines for a key when none is set.
        ("/latest/api/token", "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("Missing AccessKeyId", "half of the credentials is missing; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("InvalidAccessKeyId", "the credentials are wrong; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("SignatureDoesNotMatch", "the credentials are wrong; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("AccessDenied", "access is denied; the key needs Get, Put, List and Delete on the bucket"),
        ("NoSuchBucket", "the bucket does not exist; create it"),
    ):
        if sign in text:
            return remedy
    return f"does not serve ({text})"


def upload_closed(engine: Engine, folder: Path, remote: Remote, strays: set[Path]) -> int:
    """Upload the closed segments of a folder.

    strays: gets those that no row knows, such as another database's; they stay

    Returns how many. Raises ServiceError, OSError at the first that fails.
    """
    return sum(_upload(engine, folder, remote, path, strays) for path in sorted(folder.rglob(f"*{segment.WARC}")))


def waiting_bytes(folder: Path, *, but: Collection[Path]) -> int:
    """Bytes of closed segments that are in the folder still.   but: of those that wait for nothing"""
    found = 0
    for path in folder.rglob(f"*{segment.WARC}"):
        if path in but:
            continue
        try:
            found += path.stat().st_size
        except FileNotFoundError:  # it was uploaded meanwhile
            continue
    return found


def remove(path: Path) -> None:
    """Delete a segment's files here."""
    path.unlink(missing_ok=True)
    segment.index_of(path).unlink(missing_ok=True)


def _upload(engine: Engine, folder: Path, remote: Remote, path: Path, strays: set[Path]) -> bool:
    """Whether this segment was uploaded."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # its lock is held to the end
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        name = str(path.relative_to(folder))
        with db.transaction(engine) as tx:
            row = segments.by_name(tx, name)
        if row is None:
            strays.add(path)
            return False
        if row.state == SegmentState.OPEN:  # its writer has not told yet that it is final
            return False
        if row.state == SegmentState.CLOSED:
            _put(engine, remote, row, path)
        remove(path)
        return row.state == SegmentState.CLOSED


def _put(engine: Engine, remote: Remote, row: Segment, path: Path) -> None:
    index = segment.index_of(path)
    if index.exists():
        remote.put(index, str(segment.index_of(Path(row.name))))
    remote.put(path, row.name)
    stored, here = remote.size(row.name), path.stat().st_size
    if stored != here:
        raise ServiceError(
            f"archive at {remote}", f"{row.name} has {stored} bytes there and {here} here; it is kept here"
        )
    with db.transaction(engine) as tx:
        segments.uploaded(tx, id=row.id, place=remote.place_of(row.name))
    _log.info("archive.uploaded", segment=row.name, bytes=here)
