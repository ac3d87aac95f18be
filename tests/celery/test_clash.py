"""`celery -A app` beside packages of the user's own: one line where ours is hidden, silence where theirs is meant."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiptoe_clash import HERE

CELERY = Path(sys.executable).parent / "celery"

# files in the working folder, arguments → the package that hides ours, or None
ROWS: list[tuple[dict[str, str], list[str], str | None]] = [
    ({"app/__init__.py": ""}, ["-A", "app"], "app"),
    ({"app.py": "x = 1"}, ["--app=app"], "app.py"),
    ({"workers/__init__.py": ""}, ["-Aapp"], "workers"),
    ({"app/__init__.py": "", "app/celery.py": ""}, ["-A", "app"], None),
    ({"app/__init__.py": "from celery import Celery"}, ["-A", "app"], None),
    ({"app/__init__.py": ""}, ["-A", "other"], None),
    ({"app/readme.txt": ""}, ["-A", "app"], None),
    ({}, ["-A", "app"], None),
]


ASK = """
import json, sys
from pathlib import Path
from tiptoe_clash import clash
print(json.dumps([clash(["celery", *args, "report"], Path(folder)) for folder, args in json.loads(sys.argv.pop())]))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One for each row, with its files."""
    made = [tmp_path_factory.mktemp("row") for _ in ROWS]
    for folder, (files, _, _) in zip(made, ROWS, strict=True):
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def told(folders: list[Path]) -> list[str | None]:
    """What is said of each row, by one process: where `app` is imported already, as here, nothing can hide it."""
    asked = json.dumps([(str(folder), args) for folder, (_, args, _) in zip(folders, ROWS, strict=True)])
    done = subprocess.run(
        [sys.executable, "-c", ASK, asked], capture_output=True, text=True, check=True, cwd=folders[-1]
    )
    found: list[str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_what_clashes(folders: list[Path], told: list[str | None], number: int) -> None:
    line, hides = told[number], ROWS[number][2]
    if hides is None:
        assert line is None
    else:
        assert line is not None
        assert f"celery -A app: {folders[number] / hides} is found instead of Tiptoe's package" in line


@pytest.mark.parametrize("number", [0, len(ROWS) - 1], ids=["hidden", "not hidden"])
def test_celery_itself_says_so(folders: list[Path], number: int) -> None:
    _, args, hides = ROWS[number]
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONSAFEPATH"}}
    command = [str(CELERY), *args, "report"]
    done = subprocess.run(command, cwd=folders[number], env=env, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tiptoe: ")]
    if hides is None:
        assert (done.returncode, lines) == (0, [])
    else:
        assert (done.returncode, done.stderr.splitlines()) == (2, lines)
        assert len(lines) == 1


def test_in_our_own_folder_nothing_is_said() -> None:
    asked = json.dumps([(str(HERE), ["-A", "app"])])
    done = subprocess.run([sys.executable, "-c", ASK, asked], capture_output=True, text=True, check=True, cwd=HERE)
    assert (done.stdout, done.stderr) == ("[null]\n", "")
