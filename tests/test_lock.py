"""lock.txt and lock-run.txt have all that pyproject.toml asks for, each with its hashes.

No floor admits a version with a known hole.

Run `make lock` after a change of the dependencies.
"""

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
RUN = ("local", "text", "extract", "parquet")
LOCKS = {"lock.txt": (*RUN, "dev"), "lock-run.txt": RUN}
PLACES = [(python, system) for python in ("3.11", "3.12", "3.13", "3.14") for system in ("linux", "darwin")]

# package, the first version without the hole, its number
HOLES = [
    ("brotli", "1.2", "CVE-2025-6176"),
    ("cryptography", "46.0.5", "CVE-2026-26007"),
    ("h11", "0.16", "CVE-2025-43859"),
    ("idna", "3.7", "CVE-2024-3651"),
    ("jinja2", "3.1.6", "CVE-2025-27516"),
    ("lxml", "6.1", "CVE-2026-41066"),
    ("lxml-html-clean", "0.4.4", "CVE-2026-28348"),
    ("orjson", "3.11.6", "CVE-2025-67221"),
    ("pytest", "9.0.3", "CVE-2025-71176"),
    ("python-dotenv", "1.2.2", "CVE-2026-28684"),
    ("requests", "2.32.4", "CVE-2024-47081"),
    ("scrapy", "2.13.4", "CVE-2025-6176"),
    ("setuptools", "78.1.1", "CVE-2025-47273"),
    ("starlette", "0.49.1", "CVE-2025-62727"),
    ("tornado", "6.5.5", "CVE-2026-31958"),
    ("urllib3", "2.6.3", "CVE-2026-21441"),
]


def wanted(extras: tuple[str, ...]) -> list[Requirement]:
    return [Requirement(each) for each in [*PROJECT["dependencies"], *(r for name in extras for r in EXTRAS[name])]]


@cache
def locked(name: str) -> list[tuple[Requirement, int]]:
    """(pin, number of its hashes) of a lock."""
    joined = re.sub(r" \\\n\s+", " ", (ROOT / name).read_text())
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line.partition(" --hash")[0]), line.count("--hash=sha256:")) for line in lines]


def here(python: str, system: str) -> dict[str, str]:
    full = {"python_version": python, "python_full_version": f"{python}.0", "implementation_name": "cpython"}
    return {
        **full,
        "sys_platform": system,
        "platform_system": system.title(),
        "platform_python_implementation": "CPython",
    }


@pytest.mark.parametrize(("python", "system"), PLACES)
@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_all_that_is_asked_for(name: str, python: str, system: str) -> None:
    where = here(python, system)
    pins = [pin for pin, _ in locked(name) if pin.marker is None or pin.marker.evaluate(where)]
    versions = {canonicalize_name(pin.name): [each.version for each in pin.specifier] for pin in pins}
    assert len(versions) == len(pins)
    for each in wanted(LOCKS[name]):
        if each.marker is None or each.marker.evaluate(where):
            (version,) = versions[canonicalize_name(each.name)]
            assert each.specifier.contains(version, prereleases=True), f"{each}: {version}; run make lock"


@pytest.mark.parametrize("name", LOCKS)
def test_each_line_is_a_version_with_its_hashes_from_no_named_place(name: str) -> None:
    assert [str(pin) for pin, hashes in locked(name) if hashes == 0 or not str(pin.specifier).startswith("==")] == []
    assert not re.search(r"://|index-url|find-links| @ ", (ROOT / name).read_text())


def test_both_locks_agree() -> None:
    assert {str(pin) for pin, _ in locked("lock-run.txt")} <= {str(pin) for pin, _ in locked("lock.txt")}


@pytest.mark.parametrize(("package", "mended", "number"), HOLES)
def test_no_range_admits_a_version_with_a_known_hole(package: str, mended: str, number: str) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    ranges = [Requirement(each) for each in [*build, *map(str, wanted(tuple(EXTRAS)))]]
    found = [each for each in ranges if canonicalize_name(each.name) == package]
    assert found
    for each in found:
        floors = [Version(spec.version) for spec in each.specifier if spec.operator == ">="]
        assert floors, each
        assert max(floors) >= Version(mended), f"{each}: {number} is mended in {mended}"


def typed(*variables: str) -> str:
    """What make would run for a fresh environment."""
    argv = ["make", "-n", "VENV=/nowhere/v", *variables]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(("target", "lock"), [("venv", "lock.txt"), ("demo", "lock-run.txt"), ("test", "lock.txt")])
def test_make_installs_what_the_lock_names(target: str, lock: str) -> None:
    said = typed(target)
    assert f"--require-hashes -r {lock} " in said
    assert "--no-deps -e '.[" in said
    assert f"{lock} does not cover this platform" in said


def test_the_image_installs_what_the_lock_names() -> None:
    said = (ROOT / "Dockerfile").read_text()
    assert "install --require-hashes -r lock-run.txt" in said
    assert "install --no-deps -e ." in said
    assert "!lock-run.txt" in (ROOT / ".dockerignore").read_text().splitlines()
