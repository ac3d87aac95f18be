"""How the process ends with bad input: exit code, one line on standard error, no traceback. Rows:
`tests.cli.test_bad_input`."""

import pytest

from tests.acceptance.conftest import Tiptoe

pytestmark = [pytest.mark.acceptance, pytest.mark.smoke]

# environment, seed, exit code, words of the error
ENDS = [
    ({}, "ftp://127.0.0.1/", 2, "ftp://127.0.0.1/"),
    ({"TIPTOE_DATABASE_URL": "postgresql://who:secret@127.0.0.1:1/db"}, "http://127.0.0.1:81/", 1, "127.0.0.1:1"),
]


@pytest.mark.parametrize(("env", "seed", "code", "word"), ENDS, ids=["input", "service"])
def test_the_process_ends_with_one_line(tiptoe: Tiptoe, env: dict[str, str], seed: str, code: int, word: str) -> None:
    tiptoe.env.update(env)
    ran = tiptoe.run("crawl", seed)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err
    assert "secret" not in ran.err
    assert word in ran.err.strip().splitlines()[-1]
