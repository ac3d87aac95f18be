"""A crawl that cannot work as it is asked for is refused by the name of what is wrong."""

import math
from typing import Any

import pytest

from app.errors import InputError
from app.model import Budgets, CrawlSpec
from app.policy.crawl_spec import check


# what is asked for → how the error begins
@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        ({"scope": "web"}, "scope 'web': use one of: host, domain, prefix, any"),
        ({"include": ("(",)}, "include pattern '(': not a regular expression"),
        ({"exclude": ("x", "[a")}, "exclude pattern '[a': not a regular expression"),
        ({"budgets": Budgets(max_depth=-1)}, "max_depth -1: is below 0; use 0 for the seeds alone"),
        ({"budgets": Budgets(max_pages=0)}, "max_pages 0: use a number from 1 to "),
        ({"budgets": Budgets(max_bytes=-1)}, "max_bytes -1: use"),
        ({"budgets": Budgets(max_seconds=0)}, "max_seconds 0: use a number from 0.001 to "),
        ({"budgets": Budgets(max_pages=10**20)}, "max_pages 1"),
        ({"budgets": Budgets(max_bytes=10**20)}, "max_bytes 1"),
        ({"budgets": Budgets(max_depth=2**31)}, "max_depth 2147483648: use a number from 0 to "),
        ({"budgets": Budgets(max_seconds=1e308)}, "max_seconds 1e+308: use"),
        ({"budgets": Budgets(max_seconds=math.nan)}, "max_seconds nan: use"),
        (
            {"profile": "docks"},
            "profile docks: use one of: general, docs, news, shop, forum; or the path of a TOML file",
        ),
        ({"profile": "[rest]\nweight = 2"}, "profile: [rest]: weight = 2: use a number from 0 to 1"),
        ({"sitemaps": "some"}, "sitemaps 'some': use one of: none, declared, all"),
    ],
)
def test_what_cannot_work(wishes: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as raised:
        check(CrawlSpec(**wishes))
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"scope": "any", "include": ("/a$", "b+"), "sitemaps": "declared"},
        {"budgets": Budgets(max_pages=1, max_bytes=1, max_depth=0, max_seconds=0.001)},
    ],
)
def test_what_can_work(wishes: dict[str, Any]) -> None:
    check(CrawlSpec(**wishes))
