"""What workers and commands import: numpy, of 10 MB, is for the process alone that compares fingerprints."""

import subprocess
import sys

import pytest

SCRIPT = """
import importlib, pkgutil, sys
import app.cli, workers
for package in (workers, app.cli):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
before = "numpy" in sys.modules
import app.features.near.compare_lot
print(before, "numpy" in sys.modules)
"""


def test_numpy_is_imported_where_fingerprints_are_compared_alone() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == "False True\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_numpy_starts_no_thread() -> None:
    script = "import os; import app.features.near.simhash; print(len(os.listdir('/proc/self/task')))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "1\n"
