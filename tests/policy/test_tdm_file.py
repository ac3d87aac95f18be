"""What tdmrep.json says about text and data mining, in rows."""

from collections.abc import Mapping

import pytest

from app.policy.tdm import (
    MAX_BYTES,
    of_tdmrep,
    reserved,
)
from tests.policy.tdm_rows import POLICY, tdmrep

SPEC = tdmrep(("/directory-a/", 1), ("/directory-b/html/", 1, POLICY), ("/directory-b/images/*.jpg", 0))

# the file, target, value by property
FILES_TDMREP = [
    (SPEC, "/directory-a/x.pdf", {"tdm-reservation": "1"}),
    (SPEC, "/directory-b/html/", {"tdm-reservation": "1", "tdm-policy": POLICY}),
    (SPEC, "/directory-b/images/a/b.jpg", {"tdm-reservation": "0"}),
    (SPEC, "/directory-b/images/a.png", {}),
    (SPEC, "/", {}),
    (tdmrep(("/", 1)), "/anything?at=all", {"tdm-reservation": "1"}),
    (tdmrep(("/a/b", 0), ("/a", 1)), "/a/b/c", {"tdm-reservation": "0"}),  # the first in sequence
    (tdmrep(("/a", 1), ("/a/b", 0)), "/a/b/c", {"tdm-reservation": "1"}),
    (tdmrep(("/exactly$", 1)), "/exactly", {"tdm-reservation": "1"}),
    (tdmrep(("/exactly$", 1)), "/exactly/not", {}),
    (tdmrep(("/this/*/then", 1)), "/this/and/then/some", {"tdm-reservation": "1"}),
    (tdmrep(("/Case", 1)), "/case", {}),
    (tdmrep(("/path/foo-%24", 1)), "/path/foo-$", {"tdm-reservation": "1"}),
    (tdmrep(("/%61/", 1)), "/a/", {"tdm-reservation": "1"}),
    (tdmrep(("/a", 2), ("/", 1)), "/a", {"tdm-reservation": "2"}),  # unset, and the first match all the same
    (tdmrep(("/", None)), "/", {}),
    (b"[]", "/", {}),
]

FILES_OURS = [
    (tdmrep(("/", "1")), "/", {"tdm-reservation": "1"}),  # a string
    (tdmrep(("/", True)), "/", {}),
    (tdmrep(("/", [1])), "/", {}),
    (tdmrep(("docs/", 1)), "/docs/x", {"tdm-reservation": "1"}),  # no slash before it
    (tdmrep(("*", 1)), "/x", {"tdm-reservation": "1"}),
    (tdmrep(("*.pdf", 1)), "/x.pdf", {"tdm-reservation": "1"}),
    (tdmrep(("/", 1.0)), "/", {"tdm-reservation": "1"}),  # JSON knows one kind of number
    (tdmrep(("/", 0.5)), "/", {"tdm-reservation": "0.5"}),
    (tdmrep(("https://site.test/docs/*.pdf", 1)), "/docs/x.pdf", {"tdm-reservation": "1"}),  # a whole URL
    (tdmrep(("HTTP://site.test:8080", 1)), "/x", {"tdm-reservation": "1"}),
    (tdmrep(("https://other.test/", 0), ("/", 1)), "/x", {"tdm-reservation": "1"}),
    (tdmrep(("/to/https://site.test/x", 1)), "/x", {}),
    (b'[{"Location": "/", " TDM-Reservation": 1}]', "/", {"tdm-reservation": "1"}),
    (b'[{"location": "/", "tdm-reservation": 1, "by": "K\xf6ln"}]', "/", {"tdm-reservation": "1"}),
    (tdmrep(("/", 1)).decode().encode("utf-16"), "/", {"tdm-reservation": "1"}),
    (tdmrep(("", 1)), "/", {}),
    (tdmrep((7, 1), (None, 1)), "/", {}),
    (b'[7, null, "x", [], {}, {"location": "/", "tdm-reservation": 1}]', "/", {"tdm-reservation": "1"}),
    (b"\xef\xbb\xbf" + tdmrep(("/", 1)), "/", {"tdm-reservation": "1"}),
    # no such file
    (b"", "/", {}),
    (b"<!DOCTYPE html><html>Not found</html>", "/", {}),
    (b'{"location": "/", "tdm-reservation": 1}', "/", {}),  # "brackets … are mandatory"
    (b'"/"', "/", {}),
    (b"[", "/", {}),
    (b"\xff\xfe\x00", "/", {}),
    (b"[" * 100_000, "/", {}),
    (b'[{"location": "/", "tdm-reservation": ' + b"1" * 5000 + b"}]", "/", {}),
    (tdmrep(("/", 1)) + b" " * MAX_BYTES, "/", {}),
    (b'[{"location": "/\\ud800", "tdm-reservation": 1}]', "/\ud800", {"tdm-reservation": "1"}),
]


@pytest.mark.parametrize(("body", "target", "expected"), FILES_TDMREP)
def test_tdmrep_file(body: bytes, target: str, expected: Mapping[str, str]) -> None:
    signals = of_tdmrep(body, target)
    assert {signal.name: signal.value for signal in signals} == expected
    assert reserved(signals) is (expected.get("tdm-reservation") == "1")


@pytest.mark.parametrize(("body", "target", "expected"), FILES_OURS)
def test_ours_tdmrep_file(body: bytes, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_tdmrep(body, target)} == expected
