"""Says how to install an optional part of Tiptoe, in a command that works from a checkout and from a wheel alike."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.markers import Marker


def to_install(extra: str) -> str:
    """Return "run `PYTHON -m pip install 'PACKAGE>=1,<2' …`": it names the extra's packages, with their versions.

    It does not name `tiptoe[extra]`: pip would look for Tiptoe itself in an index.
    """
    return f"run `{_python()} -m pip install {' '.join(map(shlex.quote, _packages(extra)))}`"


def _packages(extra: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        lines = requires("tiptoe") or []
    except PackageNotFoundError:  # a source tree on sys.path that was never installed
        return [f".[{extra}]"]
    found = [Requirement(line) for line in lines]
    return [f"{each.name}{each.specifier}" for each in found if _is_of(each.marker, extra)]


def _is_of(marker: "Marker | None", extra: str) -> bool:
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _python() -> str:
    """This interpreter, relative to the working folder where it lies in there."""
    path = Path(sys.executable)
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
