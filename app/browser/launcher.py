"""Runs a program where there is no network. A script of its own: it imports nothing of ours, and starts in 30 ms.

    worker ─ pipe ─▶ launcher ─ fork ─▶ first process of new network, process and mount namespaces ─ exec ─▶ Chromium

- Its network namespace holds `lo` alone, and `lo` is down: the kernel has no road for any packet.
- It is no root, may gain no privilege, and finds a root of its own: what is shown to it, read-only, and one folder to
  write to, in memory. The machine's other files are not hidden from it, they are not there.
- It ends with the launcher (`PR_SET_PDEATHSIG`), and everything that it started ends with it, as it is the first
  process of its namespace. The launcher ends with its standard input, which closes even when a worker is killed.

Whatever is lacking ends it with `LACKING`, and a line of JSON on standard error that names the step.
Source: namespaces(7), user_namespaces(7), pid_namespaces(7), mount_namespaces(7), pivot_root(2), prctl(2).
"""

import ctypes
import fcntl
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from enum import IntFlag
from typing import NoReturn, TypedDict

LACKING = 125  # as env(1) and timeout(1) end when they fail themselves

_OUTSIDE = "/outside"
_libc = ctypes.CDLL(None, use_errno=True)


class _New(IntFlag):
    """Namespaces, as unshare(2) takes them (sched.h)."""

    NS = 0x00020000
    USER = 0x10000000
    PID = 0x20000000
    NET = 0x40000000


class _Mount(IntFlag):
    """Flags of mount(2) (sys/mount.h)."""

    RDONLY = 0x1
    NOSUID = 0x2
    NODEV = 0x4
    NOEXEC = 0x8
    REMOUNT = 0x20
    NOATIME = 0x400
    NODIRATIME = 0x800
    BIND = 0x1000
    REC = 0x4000
    PRIVATE = 0x40000
    RELATIME = 0x200000


class Launch(TypedDict):
    """The launcher's only argument, as JSON.

    argv         the program, with its arguments; an empty one only checks the place
    environment  its whole environment
    read_fd      becomes its descriptor 3; write_fd: 4
    uid, gid     it runs as, where the launcher is root
    shown        files and folders of the machine that it finds, where they are; those that are not there are left out
    folder       is its own to write to, and holds `folder_bytes` at most
    data_bytes   RLIMIT_DATA of each of its processes
    """

    argv: list[str]
    environment: dict[str, str]
    read_fd: int
    write_fd: int
    uid: int
    gid: int
    shown: list[str]
    folder: str
    folder_bytes: int
    data_bytes: int


class _Lacking(Exception):
    """A step that this place does not allow."""


def main(launch: Launch) -> int:
    """Run the program. Returns its exit code; a signal's is 128 + its number."""
    try:
        _leave_network(launch)
    except _Lacking as error:
        return _report(error)
    alive, held = os.pipe()
    child = os.fork()
    if not child:
        os.close(held)
        _become(launch, alive)
    for fd in (alive, launch["read_fd"], launch["write_fd"]):
        with suppress(OSError):  # a check hands none in
            os.close(fd)
    return _outlive(child)


def _leave_network(launch: Launch) -> None:
    """Enter namespaces of our own: as root, else as the owner of a new user namespace."""
    if os.geteuid() == 0:
        if not _libc.unshare(_New.NET | _New.PID | _New.NS):
            return
        _drop(launch)  # root of a container, without CAP_SYS_ADMIN: it may do what anybody may
    uid, gid = os.geteuid(), os.getegid()
    _must(_libc.unshare(_New.USER | _New.NET | _New.PID | _New.NS), "namespaces")
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with _step("namespaces"), open(f"/proc/self/{name}", "w") as file:
            file.write(content)


def _become(launch: Launch, alive: int) -> NoReturn:
    """Turn this process, the first of its namespace, into the program."""
    try:
        _show(launch)
        _check_network()
        _bound(launch)
        if os.geteuid() == 0:
            _drop(launch)
        _must(_libc.prctl(38, 1, 0, 0, 0), "privileges")  # PR_SET_NO_NEW_PRIVS
        _must(_libc.prctl(1, signal.SIGKILL, 0, 0, 0), "privileges")  # PR_SET_PDEATHSIG, after the last change of ids
        if select.select([alive], [], [], 0)[0]:
            os._exit(LACKING)  # the launcher died before that
        if not launch["argv"]:
            _must(_libc.unshare(_New.USER), "sandbox")  # Chromium's own does the same
            os._exit(0)
        _hand_pipes(launch)
        with _step("program"):
            os.execve(launch["argv"][0], launch["argv"], launch["environment"])
    except _Lacking as error:
        _report(error)
    os._exit(LACKING)


def _show(launch: Launch) -> None:
    """Change to a root that holds what is shown, and nothing else."""
    os.umask(0o022)
    _must(_libc.mount(b"none", b"/", None, _Mount.REC | _Mount.PRIVATE, None), "folders")
    sources = {path: os.path.realpath(path) for path in launch["shown"] if os.path.exists(path)}
    _mount_tmpfs("/tmp", "size=1m,mode=755")  # a place to change from, which is behind us then
    with _step("folders"):
        os.mkdir(f"/tmp{_OUTSIDE}")
        _must(_libc.pivot_root(b"/tmp", f"/tmp{_OUTSIDE}".encode()), "folders")
        os.chdir("/")
        os.makedirs(launch["folder"])
        os.makedirs("/proc")
        _mount_tmpfs(launch["folder"], f"size={launch['folder_bytes']},mode=1777")
        for path, source in sources.items():
            _bind(f"{_OUTSIDE}{source}", path)
        # A container may forbid it: Chromium then sees the processes' numbers of the outside, and runs all the same.
        if _libc.mount(b"proc", b"/proc", b"proc", _Mount.NOSUID | _Mount.NODEV | _Mount.NOEXEC, None):
            _bind(f"{_OUTSIDE}/proc", "/proc")
        _must(_libc.umount2(_OUTSIDE.encode(), 2), "folders")  # MNT_DETACH
        os.rmdir(_OUTSIDE)
        _write_protect(launch["folder"])


def _mount_tmpfs(path: str, options: str) -> None:
    flags = _Mount.NOSUID | _Mount.NODEV
    _must(_libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()), "folders")


def _bind(source: str, path: str) -> None:
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    _must(_libc.mount(source.encode(), path.encode(), None, _Mount.BIND | _Mount.REC, None), "folders")


def _write_protect(folder: str) -> None:
    """Make every mount read-only, but for the folder, and for /proc: Chromium's sandbox writes its own files there."""
    with open("/proc/self/mountinfo", "rb") as file:
        escaped = [line.split()[4] for line in file]
    places = [re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), place) for place in escaped]
    for place in places:
        if place == folder.encode() or (place + b"/").startswith(b"/proc/"):
            continue
        has = os.statvfs(place).f_flag
        kept = has & (_Mount.NOSUID | _Mount.NODEV | _Mount.NOEXEC | _Mount.NOATIME | _Mount.NODIRATIME)
        if has & 0x1000:  # statvfs(3) has another bit for it than mount(2)
            kept |= _Mount.RELATIME
        flags = _Mount.REMOUNT | _Mount.BIND | _Mount.RDONLY | kept  # a user namespace may take none of them away
        _must(_libc.mount(None, place, None, flags, None), "folders")


def _check_network() -> None:
    """Look whether the namespace is empty. A kernel without namespaces would have failed before."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise _Lacking("network", f"it has {', '.join(names) or 'no loopback'}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe, 0x8913, struct.pack("16sh14x", b"lo", 0))  # SIOCGIFFLAGS
    if struct.unpack("16sh14x", answer)[1] & 0x1:  # IFF_UP
        raise _Lacking("network", "its loopback is up")


def _bound(launch: Launch) -> None:
    """The kernel's bounds for each process. The address space has none: V8 reserves far more than it uses."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (launch["data_bytes"], launch["data_bytes"]))
    os.nice(10)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")  # of all that runs here, the kernel should take this first


def _drop(launch: Launch) -> None:
    with _step("user"):
        os.setgroups([])
        os.setresgid(launch["gid"], launch["gid"], launch["gid"])
        os.setresuid(launch["uid"], launch["uid"], launch["uid"])
    _libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self is ours again, which user namespaces need


def _hand_pipes(launch: Launch) -> None:
    """Put the pipes where `--remote-debugging-pipe` expects them. They are copied upwards first: they may be 3 or 4."""
    copies = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (launch["read_fd"], launch["write_fd"])]
    for fd, copy in zip((3, 4), copies, strict=True):
        os.dup2(copy, fd, inheritable=True)
    os.closerange(5, 64)
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)


def _outlive(child: int) -> int:
    """Wait for the program's end, or for the worker's: then kill it."""
    fd = os.pidfd_open(child)
    while True:
        ready, _, _ = select.select([fd, 0], [], [])
        if fd in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            return code if code >= 0 else 128 - code
        if not os.read(0, 1):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 128 + signal.SIGKILL


class _step:
    """Names the step in which an OSError happened."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _Lacking(self._name, error.strerror or str(error)) from error


def _must(code: int, step: str) -> None:
    if code:
        raise _Lacking(step, os.strerror(ctypes.get_errno()))


def _report(error: _Lacking) -> int:
    step, why = error.args
    os.write(2, json.dumps({"lacking": step, "why": why}).encode() + b"\n")
    return LACKING


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
