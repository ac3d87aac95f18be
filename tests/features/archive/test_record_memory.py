"""Records are packed in memory that the process keeps: none is mapped, touched and unmapped again for each."""

import os
import platform
import subprocess
import sys

import pytest

from app.local.stack import MALLOC

RECORDS = 200
PACK = f"""
from resource import RUSAGE_SELF, getrusage
from app.features.archive.record import member
body = b"".join(b"<p>line %d of a page</p>" % n for n in range(500))
def pack(times):
    for n in range(times):
        member([("WARC-Type", "response"), ("WARC-Record-ID", str(n))], body)
        member([("WARC-Type", "request"), ("WARC-Record-ID", str(n))], b"GET / HTTP/1.1")
pack(20)
before = getrusage(RUSAGE_SELF).ru_minflt
pack({RECORDS})
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_a_record_costs_no_page_fault_in_a_worker() -> None:
    """With buffers of ISA-L's own size it is 29 of them, without the last of the settings 13."""
    packed = subprocess.run(
        [sys.executable, "-c", PACK], env={**os.environ, **MALLOC}, capture_output=True, text=True, check=True
    )
    assert int(packed.stdout) < RECORDS
