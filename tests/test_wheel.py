"""What is not Python is installed, too: templates, queries, alert rules. A wheel has only what is named."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATTERNS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]


def others(package: Path) -> set[Path]:
    """Files that are no Python, below a package of the top level."""
    return {path for path in package.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}


def named(package: Path) -> set[Path]:
    """Those that the patterns name. They count from each package below, as setuptools has it."""
    folders = {path.parent for path in package.rglob("__init__.py")}
    return {found for folder in folders for pattern in PATTERNS for found in folder.glob(pattern) if found.is_file()}


@pytest.mark.parametrize("package", ["app", "migrations", "tiptoe", "workers"])
def test_every_file_is_installed(package: str) -> None:
    missing = others(ROOT / package) - named(ROOT / package)
    assert not missing, f"name them in [tool.setuptools.package-data]: {sorted(map(str, missing))}"
