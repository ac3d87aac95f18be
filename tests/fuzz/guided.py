"""libFuzzer on one target: `python -m tests.fuzz.guided TARGET FAULT FOLDER… -option=…`. Started by `python -m
tests.fuzz`.

An input that is at fault is written to the file FAULT, and the process ends with 77.
"""

import os
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["app", "dotenv", "email", "gzip", "http", "protego", "urllib3", "w3lib"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    program, name, fault, *rest = sys.argv
    target = TARGETS[name]

    def check(data: bytes) -> None:
        try:
            target.check(data)
        except Exception:  # noqa: BLE001  # whatever it raises is the fault
            traceback.print_exc()
            Path(fault).write_bytes(data)
            sys.stderr.flush()
            os._exit(77)  # at once: libFuzzer's own way out is at times overtaken by its alarm clock

    atheris.Setup([program, *rest], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
