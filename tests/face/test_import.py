"""`import tiptoe`: cheap, small, typed; beside a user's own `app` it says what is wrong, and no command minds."""

import subprocess
import sys
from pathlib import Path

import pytest

import tiptoe

BIN = Path(sys.executable).parent
HEAVY = {"app", "sqlalchemy", "celery", "lxml"}
LOADED = f"import sys, tiptoe; print(sorted(m for m in sys.modules if m.split('.')[0] in {HEAVY}))"
USES = "import tiptoe; tiptoe.crawl"


def test_there_are_few_names_and_each_is_there() -> None:
    assert len(tiptoe.__all__) < 15
    assert [name for name in tiptoe.__all__ if not getattr(tiptoe, name).__doc__] == []
    assert set(tiptoe.__all__) <= set(dir(tiptoe))


def test_another_name_is_none_of_ours() -> None:
    with pytest.raises(AttributeError, match="no attribute 'crawll'"):
        tiptoe.crawll  # noqa: B018  # to look it up is the test


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_import_loads_nothing(tmp_path: Path) -> None:
    assert python(tmp_path, "-c", LOADED).stdout == "[]\n"


@pytest.fixture(params=["app/__init__.py", "app.py", "workers/__init__.py"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a package of the user's own."""
    path = tmp_path / str(request.param)
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine = True\n")
    return tmp_path


def test_beside_an_app_of_the_users_own_one_line_says_so(own: Path) -> None:
    ran = python(own, "-c", USES)
    line = ran.stderr.splitlines()[-1]
    found = next(path for path in own.iterdir())
    assert ran.returncode == 1
    assert line.startswith(f"ImportError: tiptoe: {found}")
    assert "rename it, or start the script from another folder" in line


def test_and_still_it_can_be_imported_first_or_last(own: Path) -> None:
    name = next(own.iterdir()).stem
    ran = python(own, "-c", f"import {name}, tiptoe; import {name} as again; print(again is {name})")
    assert (ran.stdout, ran.stderr) == ("True\n", "")


PACKAGES = ("app/__init__.py", "workers/__init__.py")


# python -m has the folder first on its path, a script has not
@pytest.mark.parametrize(
    ("names", "command"),
    [
        (PACKAGES, [sys.executable, "-m", "tiptoe"]),
        (("app.py",), [sys.executable, "-m", "tiptoe"]),
        (PACKAGES, [str(BIN / "tiptoe")]),
    ],
    ids=["packages, -m", "module, -m", "packages, console"],
)
def test_no_command_minds(tmp_path: Path, names: tuple[str, ...], command: list[str]) -> None:
    for path in (tmp_path / name for name in names):
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine = True\n")
    ran = subprocess.run(
        [*command, "identity", "show"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)
    assert "User-Agent" in ran.stdout


def test_a_script_elsewhere_on_the_path_is_no_clash(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import tiptoe\nprint(tiptoe.crawl.__name__)\n")
    assert python(tmp_path, "script.py").stdout == "crawl\n"
