"""What names of blocks say of them."""

import pytest

from app.parse.html import names


@pytest.mark.parametrize(
    ("anchor", "line", "expected"),
    [
        pytest.param("add(c:cookie)-method", "def add(c : Cookie)", True, id="a call"),
        pytest.param("jar.set_cookie", "def set_cookie(self)", True, id="a method"),
        pytest.param("method-i-cookies", "cookies() Lists them.", True, id="at the id's end"),
        pytest.param("jar.cookie", "cookie The first.", True, id="an attribute"),
        pytest.param("cookie", "class Cookie:", True, id="a class"),
        pytest.param("cookie-notice", "Cookie notice We use some.", False, id="a notice"),
        pytest.param("cookies", "We use cookies to (3) learn.", False, id="a notice with a number"),
        pytest.param("post-comments", "Comments(3) I agree.", False, id="a count"),
        pytest.param("post-comment", "1 comment(s) I agree.", False, id="a count with a plural"),
    ],
)
def test_an_id_names_the_member_of_code_that_it_begins_with(anchor: str, line: str, expected: bool) -> None:
    assert names.is_slug(anchor, line, is_heading=False) is expected
