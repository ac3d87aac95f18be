"""The page that named a URL, where both are of one origin."""

import pytest

from app.model.url import Url, on_host
from app.policy.url import Canon


# found on, URL → path and query
@pytest.mark.parametrize(
    ("found_on", "url", "target"),
    [
        ("http://a.test/list?p=2", "http://a.test/x", "/list?p=2"),
        ("http://a.test/", "http://a.test/", "/"),
        ("http://a.test:8080/list", "http://a.test:8080/x/y?z=1", "/list"),
        ("http://a.test:8080/list", "http://a.test/x", None),
        ("http://a.test/list", "http://a.test:8080/x", None),
        ("https://a.test/list", "http://a.test/x", None),
        ("http://a.test.evil/list", "http://a.test/x", None),
        (None, "http://a.test/x", None),
    ],
)
def test_the_page_that_named_a_url_of_its_origin(found_on: str | None, url: str, target: str | None) -> None:
    made = Canon().canonicalise(url)
    assert isinstance(made, Url)
    assert on_host(found_on, made) == target
