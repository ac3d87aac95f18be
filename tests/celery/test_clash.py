"""`celery -A app` beside packages of the user's own: one line where ours is hidden, silence where theirs is meant."""

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


@pytest.mark.parametrize(("files", "args", "hides"), ROWS)
def test_what_clashes(tmp_path: Path, files: dict[str, str], args: list[str], hides: str | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONSAFEPATH"}}
    done = subprocess.run([CELERY, *args, "report"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if line.startswith("tiptoe: ")]
    if hides is None:
        assert told == []
    else:
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert f"celery -A app: {tmp_path / hides} is found instead of Tiptoe's package" in told[0]


def test_in_our_own_folder_nothing_is_said() -> None:
    done = subprocess.run([CELERY, "-A", "app", "report"], cwd=HERE, capture_output=True, text=True, check=False)
    assert "tiptoe: " not in done.stderr
    assert "celery:" in done.stdout
