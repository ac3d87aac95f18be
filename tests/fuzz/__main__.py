"""`make fuzz`: libFuzzer, led by coverage, on each target in turn. New inputs are kept in its corpus, faults as bug-….

One line a target: executions, edges that libFuzzer saw, new inputs.
The exit code is 1 when a fault was found, 2 when it cannot start.
"""

import argparse
import importlib.util
import logging
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.fuzz import keep
from tests.fuzz.targets import HERE, TARGETS, Target

INPUT_S = 10  # an input that takes longer is a fault
MEMORY_MB = 2_048
MISSING = (
    "fuzzing by coverage needs atheris, which there is for Linux on x86-64 and CPython 3.11 to 3.14; install it with\n"
    "    .venv/bin/python -m pip install -e '.[local,dev,fuzz]'\n"
    "The properties under hypothesis and the replay of the corpus need nothing: make test ARGS=tests/fuzz"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """executions, edges: libFuzzer's counts.   kept: new inputs.   fault: where it was put; what it said is `told`."""

    executions: int
    edges: int
    kept: int
    fault: Path | None
    told: str


def main() -> int:
    arguments = _arguments()
    logging.disable(logging.WARNING)  # python-dotenv's, of each line that it cannot read
    if arguments.report:
        _report()
        return 0
    if importlib.util.find_spec("atheris") is None:
        print(MISSING, file=sys.stderr)
        return 2
    faults = 0
    for name in arguments.target or TARGETS:
        target = TARGETS[name]
        run = _fuzz(target, arguments.seconds, arguments.seeds)
        kept = f"{run.kept:>4} new inputs of {len(target.inputs()):>3}"
        print(f"{name:12} {run.executions:>10,} executions {run.edges:>6,} edges {kept}", flush=True)
        if run.fault:
            faults += 1
            print(f"FAULT, kept as {run.fault.relative_to(HERE.parents[1])}\n{run.told}", file=sys.stderr)
    return 1 if faults else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=…", description=__doc__)
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="may be repeated; D: every one")
    parser.add_argument("--seconds", type=int, default=30, help="a target; D: 30")
    parser.add_argument(
        "--seeds", type=Path, action="append", default=[], help="a folder of further inputs to begin with"
    )
    parser.add_argument("--report", action="store_true", help="fuzz nothing; tell what the corpora reach")
    return parser.parse_args()


def _report() -> None:
    """A line a module: how many lines of the functions that are entered are reached, and the numbers of those that are
    not."""
    for name, (reached, there) in keep.reached(TARGETS.values()).items():
        missed = ", ".join(map(str, sorted(there - reached)))
        print(f"{name:28} {len(reached):>4} of {len(there):>4} {len(reached) / len(there):>5.0%}   {missed}")


def _fuzz(target: Target, seconds: int, seeds: list[Path]) -> Run:
    with tempfile.TemporaryDirectory(prefix="tiptoe-fuzz-") as folder:
        new = Path(folder, "new")
        new.mkdir()
        options = [
            f"-max_total_time={seconds}",
            f"-max_len={target.max_len}",
            f"-dict={target.dictionary}",
            f"-timeout={INPUT_S}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-artifact_prefix={folder}/fault-",
        ]
        folders = map(str, [f"{folder}/fault-raised", new, target.corpus, *seeds])
        command = [sys.executable, "-m", "tests.fuzz.guided", target.name, *folders]
        ended = subprocess.run(
            [*command, *options], cwd=HERE.parents[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        told = ended.stdout.decode("utf-8", "replace")
        fault = next(_faults(target, Path(folder)), None)
        if ended.returncode and fault is None:
            sys.exit(f"{target}: libFuzzer ended with {ended.returncode}\n{told[-2_000:]}")
        kept = keep.keep(target, (file.read_bytes() for file in new.iterdir()))
    return Run(
        executions=_last(r"^#(\d+)", told),
        edges=_last(r" cov: (\d+)", told),
        kept=kept,
        fault=fault,
        told=_excerpt(told),
    )


def _faults(target: Target, folder: Path) -> Iterator[Path]:
    for found in folder.glob("fault-*"):
        body = found.read_bytes()
        kept = target.corpus / f"bug-{sha256(body).hexdigest()[:8]}"
        kept.write_bytes(body)
        yield kept


def _last(pattern: str, told: str) -> int:
    return int((re.findall(pattern, told, re.MULTILINE) or ["0"])[-1])


def _excerpt(told: str) -> str:
    """The traceback, or what libFuzzer said last."""
    at = told.rfind("Traceback")
    return told[at:] if at >= 0 else told[-2_000:]


if __name__ == "__main__":
    sys.exit(main())
