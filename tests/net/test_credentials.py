"""The file of credentials: its owner's alone, and every mistake is told without what is in it."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import InputError
from app.net import credentials

SECRET = "opensesame"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(content: str | bytes, mode: int = 0o600) -> Path:
        path = tmp_path / "credentials.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    return written


def test_what_a_file_says(write: Callable[..., Path]) -> None:
    path = write(
        '["https://A.Example.org"]\nbasic = "u:p:q"\n["http://b.test:8080/"]\ncookie = "a=1; b=2"\nheaders = { '
        'X-Key = "k" }\n'
    )
    assert credentials.load(path) == {
        ("https", "a.example.org", 443): {"Authorization": "Basic " + b64encode(b"u:p:q").decode()},
        ("http", "b.test", 8080): {"X-Key": "k", "Cookie": "a=1; b=2"},
    }
    assert credentials.load(write("")) == {}


# file → what is wrong, and what would do
@pytest.mark.parametrize(
    ("content", "err"),
    [
        (f'["https://a.test"\nbasic = "{SECRET}:x"', "is not TOML (at line 1, column 18); write"),
        ('["https://a.test"]\nbasic = ' + "1" * 5_000, "is not TOML; write"),
        ('["https://a.test"]\nbasic = ' + "[" * 5_000 + "]" * 5_000, "is not TOML; write"),
        (f'basic = "{SECRET}:x"', r"['basic'] is not an origin; write scheme and host"),
        (f'["a.test"]\nbasic = "{SECRET}:x"', "['a.test'] is not an origin; write scheme and host"),
        (f'["https://a.test/x"]\nbasic = "{SECRET}:x"', "['https://a.test/x'] is not an origin"),
        (f'["https://u:{SECRET}@a.test"]\nbasic = "{SECRET}:x"', "['https://…@a.test'] is not an origin"),
        (f'["u:/{SECRET}@a.test/{SECRET}@"]\nbasic = "x:x"', "is not an origin"),
        (f'["https://a.test"]\nbasic = "{SECRET}:x"\n#{"x" * 1024 * 1024}', "is longer than 1,048,576 bytes"),
        (f'["ftp://a.test"]\nbasic = "{SECRET}:x"', "['ftp://a.test'] is not an origin"),
        (f'["https://a.test"]\npassword = "{SECRET}"', "may have basic, cookie and headers, and nothing else"),
        ('["https://a.test"]', "may have basic, cookie and headers, and nothing else"),
        (f'["https://a.test"]\nbasic = "{SECRET}"', 'basic is not a pair; write basic = "user:password"'),
        (f'["https://a.test"]\ncookie = "{SECRET}\\r\\nX: y"', "cookie is not a header value"),
        ('["https://a.test"]\ncookie = 7', "cookie is not a header value"),
        (f'["https://a.test"]\nheaders = "{SECRET}"', "headers is not a table"),
        (f'["https://a.test"]\nheaders = {{ Host = "{SECRET}" }}', "header 'Host' cannot be set"),
        (f'["https://a.test"]\nheaders = {{ User-Agent = "{SECRET}" }}', "header 'User-Agent' cannot be set"),
        (f'["https://a.test"]\nheaders = {{ "X Y" = "{SECRET}" }}', "header 'X Y' cannot be set"),
        (f'["https://a.test"]\nheaders = {{ X = "{SECRET}ü" }}', "header X is not a header value"),
        (SECRET.encode() + b"\xff", "is not in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_without_what_is_in_it(
    write: Callable[..., Path], content: str | bytes, err: str
) -> None:
    with pytest.raises(InputError) as told:
        credentials.load(write(content))
    assert err in str(told.value)
    assert str(told.value).startswith("credentials file ")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(write: Callable[..., Path], mode: int) -> None:
    path = write(f'["https://a.test"]\nbasic = "{SECRET}:x"', mode)
    with pytest.raises(InputError, match=rf"others can read it \(mode {mode:04o}\); run: chmod 600 "):
        credentials.load(path)


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_file_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot be read|is not a regular file"):
        credentials.load(tmp_path / name)
