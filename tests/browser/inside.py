"""Runs a command, as root of a new user namespace that allows no further one: `python inside.py IDS COMMAND …`.

IDS is how many users the namespace has: 1 is root alone. Needs root, as it maps ids of others.
"""

import ctypes
import os
import sys
from pathlib import Path

NEWUSER = 0x10000000


def main(ids: str, command: list[str]) -> None:
    ready_r, ready_w = os.pipe()
    mapped_r, mapped_w = os.pipe()
    child = os.fork()
    if child:
        os.read(ready_r, 1)
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(f"0 0 {ids}")
        os.write(mapped_w, b"x")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert ctypes.CDLL(None).unshare(NEWUSER) == 0
    os.write(ready_w, b"x")
    os.read(mapped_r, 1)
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
