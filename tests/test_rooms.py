"""What `make test` prints: a line a room, the slowest, tracebacks of failures, the verdict."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rooms import room_of

ROOT = Path(__file__).parents[1]
TESTS = {
    "tests/one/test_a.py": "import pytest\n@pytest.mark.parametrize('n', range(7))\ndef test_fine(n): pass",
    "tests/one/deeper/test_b.py": "def test_fine(): pass",
    "tests/two/test_c.py": "def test_wrong():\n    found = 41\n    assert found == 42",
    "tests/two/test_d.py": "import pytest\ndef test_skipped():\n    pytest.skip('not here')",
    "tests/test_e.py": "import pytest\n@pytest.fixture\ndef broken(): raise OSError('gone')\ndef test_it(broken): pass",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, source in TESTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -ra --import-mode=importlib -p no:cacheprovider\n")
    return tmp_path


def said(project: Path, *options: str, addopts: str = "") -> tuple[int, list[str]]:
    """The exit code and the lines of a run, with the options of `make test`."""
    (of_make,) = re.findall(r"^ROOMS_SAID = (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COVERAGE_"))}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *of_make.split(), *options],
        cwd=project,
        env={**env, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": addopts},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.returncode, ran.stdout.splitlines()


def test_a_run_prints_rooms_then_failures_then_the_verdict(project: Path) -> None:
    code, lines = said(project, "-n", "2")
    assert code == 1
    rooms = sorted(re.sub(r" +\d+\.\d s", "", line) for line in lines if re.search(r"\d tests ", line))
    assert [" ".join(line.split()) for line in rooms] == [
        "tests 1 tests 1 failed",
        "tests/one 8 tests",
        "tests/two 2 tests 1 failed",
    ]
    assert "failed: tests/two/test_c.py::test_wrong" in lines
    assert any(line.startswith("E ") and "assert 41 == 42" in line for line in lines)
    assert any("OSError: gone" in line for line in lines)
    slowest = lines.index("the slowest:")
    assert [bool(re.match(r" +\d+\.\d s  tests/", line)) for line in lines[slowest + 1 :]][:6] == [True] * 5 + [False]
    assert any(line.startswith("FAILED tests/two/test_c.py::test_wrong") for line in lines[slowest:])
    assert re.fullmatch(r"1 failed, 8 passed, 1 skipped, 1 error in .+s", lines[-1])
    assert not [line for line in lines if re.fullmatch(r"[.FEs]+( +\[ *\d+%\])?", line)]


def test_options_of_the_user_hold(project: Path) -> None:
    code, lines = said(project, "tests/one", addopts="-k fine --deselect tests/one/deeper")
    assert code == 0
    assert [line.split()[:3] for line in lines if " tests " in line] == [["tests/one", "7", "tests"]]
    code, lines = said(project, "tests/one", "-v", "-v", addopts="")
    assert any(line.startswith("tests/one/test_a.py::test_fine[0] PASSED") for line in lines)


def test_an_interrupted_run_says_how_far_each_room_came(project: Path) -> None:
    """In one process."""
    code, lines = said(project, "-x", "-p", "no:randomly")
    assert code == 1
    assert any(re.fullmatch(r"tests +1 tests .+ 1 failed", line) for line in lines)
    assert any("OSError: gone" in line for line in lines)
    assert re.fullmatch(r"(.+ )?1 error in .+s", lines[-1])


@pytest.mark.parametrize(
    ("name", "room"),
    [
        ("tests/crawl/page/test_read.py::test_it[a/b::c]", "tests/crawl"),
        ("tests/policy/test_a.py::test_it", "tests/policy"),
        ("tests/features/near/test_a.py::test_it", "tests/features/near"),
        ("tests/test_a.py::test_it", "tests"),
        ("test_a.py::test_it", "."),
    ],
)
def test_a_room_is_a_folder_of_tests(name: str, room: str) -> None:
    assert room_of(name) == room


def test_the_command_of_the_faults_names_each_room_that_has_some() -> None:
    (named,) = re.findall(r"^ROOMS = \$\(addprefix tests/,(.+)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    rooms = [ROOT / "tests" / name for name in named.split()]
    assert [room for room in rooms if not room.is_dir()] == []
    marked = re.compile(r"mark\.(?:faults|acceptance)\b")
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if marked.search(path.read_text())]
    missed = [path for path in files if path != Path(__file__) and not any(room in path.parents for room in rooms)]
    assert (missed, len(files) > 30) == ([], True)
