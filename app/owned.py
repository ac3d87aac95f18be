"""Judges whether a file or a folder is ours alone, as git, ssh and sudo do, before it is believed or written to.

Ours is what we own, or root does, and nobody else may write to; a group may where it is our own private one, which
useradd makes for each user (USERGROUPS_ENAB of login.defs(5)) for a umask of 002. Links are not followed where we
write: another user could point one at a file of ours.
"""

import errno
import os
import stat
from pathlib import Path

from app.errors import InputError

_NO_FILE = "is no plain file; remove it"


def check(path: Path, what: str) -> None:
    """Raises InputError, which begins with `what`, where a file or a folder is not ours alone, or a link to it is not.

    Nothing where there is none."""
    try:
        _check(path.lstat(), path, what)
        _check(path.stat(), path, what)
    except FileNotFoundError:
        return


def open_file(path: Path, flags: int) -> int:
    """Open a file of ours, made where `flags` says so (0600), and no link. Returns its descriptor.

    Raises InputError where it is not ours alone, FileNotFoundError and other OSErrors as `os.open` does."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"the file {path}", "is a link, which another user may have made; remove it") from None
        if error.errno == errno.ENXIO:  # a pipe that nobody reads
            raise InputError(f"the file {path}", _NO_FILE) from None
        raise
    try:
        found = os.fstat(descriptor)
        _check(found, path, f"the file {path}")
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise InputError(
                f"the file {path}",
                "has another name, too, which another user may have made; remove it"
                if stat.S_ISREG(found.st_mode)
                else _NO_FILE,
            )
    except InputError:
        os.close(descriptor)
        raise
    return descriptor


def open_draft(path: str, flags: int) -> int:
    """Open the draft of a file, as an opener of `open`, in a folder that others may write to.

    Raises OSError for a link, a second name or a pipe, by which we would write to a file of ours, or wait."""
    held = os.open(path, (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    found = os.fstat(held)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        os.ftruncate(held, 0)
    elif not stat.S_ISCHR(found.st_mode):
        os.close(held)
        raise FileExistsError(errno.EEXIST, "another file stands where its draft belongs", path)
    return held


def _check(found: os.stat_result, path: Path, what: str) -> None:
    if found.st_uid not in (0, os.geteuid()):
        remedy = f"belongs to another user ({_user(found.st_uid)}); use one of your own, or run: chown {_me()} {path}"
        raise InputError(what, remedy)
    writable = 0 if stat.S_ISLNK(found.st_mode) else found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if writable & stat.S_IWOTH or (writable and not _is_private(found.st_gid)):
        remedy = f"may be written by other users (mode {stat.S_IMODE(found.st_mode):04o}); run: chmod go-w {path}"
        raise InputError(what, remedy)


def _is_private(group: int) -> bool:
    """Whether this is our user's own group, with nobody else in it."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _me() -> str:
    return _user(os.geteuid())
