"""How Chromium is started, so that only the kernel's word counts: `app.browser.launcher`, with what it is given.

It is checked first: where the namespaces or Chromium's own sandbox cannot work, nothing is rendered, and a line says
what would help. There is no way around it, as a page is anybody's program.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.browser.launcher import LACKING, Launch
from app.browser.values import BrowserProblem
from app.sandbox.child import allowed

CHECK_S: Final = 20.0
# Nobody's name: Postgres runs as `nobody` where root starts it. No distribution gives this number to anybody, and it is
# within what containers map (systemd, "Users, Groups, UIDs and GIDs"; Debian Policy 9.2.2).
UID: Final = 65533
LAUNCHER: Final = Path(__file__).with_name("launcher.py")
FOLDER: Final = "/dev/shm"
SHOWN: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/ld.so.cache"),
    *("/etc/fonts", "/var/cache/fontconfig", "/dev/null", "/dev/zero", "/dev/urandom"),
    "/etc/chromium.d",  # which Debian's wrapper reads
)
# Of each process. V8 and Skia take 1.1 GB of it for an empty page, most of which they never touch.
DATA_BYTES: Final = 8 * 1024**3
PROFILE: Final = f"{FOLDER}/profile"  # a folder of the launcher's: it is gone with the last process

_CONTAINER: Final = "in a container add --cap-add=SYS_ADMIN, or --security-opt seccomp=unconfined"
_MOUNTS: Final = f"{_CONTAINER}; where AppArmor runs, --security-opt apparmor=unconfined, too: Docker's denies mounts"
_USER_NAMESPACES: Final = (
    "allow user namespaces: sysctl user.max_user_namespaces=15000 kernel.apparmor_restrict_unprivileged_userns=0"
)
_REMEDIES: Final = {
    "namespaces": f"{_USER_NAMESPACES}; {_CONTAINER}",
    "folders": f"{_USER_NAMESPACES}; {_MOUNTS}",
    "privileges": "use Linux 3.5 or newer",
    "sandbox": f"{_USER_NAMESPACES}; {_CONTAINER}",
    "network": "use a kernel with CONFIG_NET_NS",
    "user": f"run as an ordinary user, or map uid {UID} into the container",
    "program": "check that everybody may run it",
}
_WORDS: Final = {
    "namespaces": "no namespace without a network for Chromium",
    "folders": "no folders of its own for Chromium",
    "privileges": "Chromium's privileges cannot be taken away",
    "sandbox": "Chromium's sandbox cannot work here",
    "network": "Chromium's namespace is not empty",
    "user": "Chromium would have to run as root",
    "program": "Chromium cannot be run",
}


def command(argv: Sequence[str], read_fd: int = -1, write_fd: int = -1) -> list[str]:
    """The command that runs a program behind the guard. Without a program it only checks whether it can."""
    program = [os.path.realpath(argv[0])] if argv else []
    launch = Launch(
        argv=[*program, *argv[1:]],
        environment={
            "PATH": "/usr/bin:/bin",
            "HOME": PROFILE,
            "TMPDIR": FOLDER,
            "LANG": "C.UTF-8",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        },
        read_fd=read_fd,
        write_fd=write_fd,
        uid=UID,
        gid=UID,
        shown=[*SHOWN, *(os.path.dirname(path) for path in program)],
        folder=FOLDER,
        folder_bytes=512 * 1024**2,
        data_bytes=DATA_BYTES,
    )
    return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(launch)]


def check() -> BrowserProblem | None:
    """Try the guard with nothing behind it. It takes a tenth of a second."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return BrowserProblem(f"no network namespaces on {sys.platform}", "run workers of queue render on Linux")
    try:
        tried = subprocess.Popen(
            command([]),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=allowed(os.environ),
            process_group=0,
        )
    except OSError as error:
        return BrowserProblem(f"the guard of Chromium did not start: {error}", "see the system's log")
    with tried:  # its standard input stays open until it has ended: it would end with it
        assert tried.stderr is not None
        try:
            code = tried.wait(CHECK_S)
        except subprocess.TimeoutExpired:
            tried.kill()
            return BrowserProblem(
                f"the guard of Chromium gave no answer within {CHECK_S:.0f} s", "see the system's log"
            )
        said = tried.stderr.read()
    if code == 0:
        return None
    return lacking(said, code) or BrowserProblem(
        f"the guard of Chromium ended with code {code}", "see the system's log"
    )


def lacking(said: bytes, code: int) -> BrowserProblem | None:
    """The problem that a launcher reported, by its exit code and standard error. None: it was not the launcher's."""
    last = next((line for line in reversed(said.splitlines()) if line.startswith(b'{"lacking"')), None)
    if code != LACKING or last is None:
        return None
    found = json.loads(last)
    return problem(found["lacking"], found["why"])


def problem(step: str, why: str) -> BrowserProblem:
    """The problem of a step of the launcher."""
    return BrowserProblem(f"{_WORDS[step]} ({why})", _REMEDIES[step])
