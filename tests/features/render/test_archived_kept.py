"""How long what a browser made is kept, and that it is verified. With a stand-in for the browser."""

import pytest

from app.admin import captures as shown
from app.admin import seeds
from app.admin.crawls import find
from app.crawl.state.worker import Worker
from app.features.archive import retention
from app.features.archive.verify import verify
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, start
from tests.crawl.web import Site
from tests.features.archive.deposits import all_captures
from tests.features.render.archived import OTHER, PLAIN, again, conversions, kinds, of_page
from tests.features.render.shells import Stand, render, shell, turns
from tests.store.rows import sql


def test_retention_keeps_what_stands_with_its_answer(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)
    render(keeping, Stand(html=OTHER))
    archiving.close()
    first, old, second, new = of_page(keeping, site)
    sql(keeping.engine, "UPDATE segments SET closed_at = now() - interval '9 days'")
    retention.prune(keeping.engine, archiving.settings, days=7)
    assert {each.id for each in of_page(keeping, site)} == {second.id, new.id}
    assert (first.id, old.id) == (min(first.id, second.id), min(old.id, new.id))
    here = shown.show(keeping.engine, archiving.settings, site.url("/"))
    assert here.answer.body == OTHER.encode()
    assert here.plain is not None
    assert verify(keeping.engine, archiving.settings, None).flaws == []
    archiving.close()


def test_retention_keeps_the_answer_that_a_document_was_made_from(
    archiving: Archiving, keeping: Worker, site: Site
) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)
    render(keeping, Stand())  # the same document: the first stands
    archiving.close()
    sql(keeping.engine, "UPDATE segments SET closed_at = now() - interval '9 days'")
    before = of_page(keeping, site)
    retention.prune(keeping.engine, archiving.settings, days=7)
    assert [each.id for each in of_page(keeping, site)] == [each.id for each in before]
    archiving.close()


def test_retention_drops_a_document_that_stands_no_more(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    site.pages["/"] = PLAIN
    again(keeping)
    archiving.close()
    sql(keeping.engine, "UPDATE segments SET closed_at = now() - interval '9 days'")
    retention.prune(keeping.engine, archiving.settings, days=7)
    (left,) = of_page(keeping, site)
    assert (left.kind, left.to_render) == ("page", False)
    archiving.close()


# what is done to the row or the log of a sound archive, what verify says
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("UPDATE captures SET at_offset = at_offset + 1 WHERE kind = 'rendered'", "points to no record of it"),
        ("UPDATE captures SET record_id = gen_random_uuid() WHERE kind = 'rendered'", "another record than its own"),
        ("UPDATE captures SET record_id = gen_random_uuid() WHERE kind = 'page'", "was not made from the answer"),
        ("DELETE FROM captures WHERE kind = 'page'", "has no row"),
        (
            "UPDATE captures SET kind = 'page', rendered_from = NULL WHERE kind = 'rendered'",
            "points to no record of it",
        ),
        (
            "UPDATE fetches AS f SET at_offset = c.at_offset, length = c.length FROM captures AS c"
            " WHERE c.kind = 'rendered' AND f.url = c.url AND f.segment_id = c.segment_id",
            "where no answer is",
        ),
    ],
)
def test_verify_finds_what_is_wrong_with_a_document(
    harm: str, said: str, archiving: Archiving, keeping: Worker, site: Site
) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand())
    archiving.close()
    sql(keeping.engine, harm)
    flaws = verify(keeping.engine, archiving.settings, None).flaws
    assert [flaw for flaw in flaws if said in flaw.what], flaws


def test_a_document_without_a_row_is_legal(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    stand = Stand(does=lambda: sql(keeping.engine, "UPDATE hosts SET lease_token = gen_random_uuid()"))
    turns(keeping, stand).run()
    assert kinds(keeping, site) == ["page"]
    (path,) = archiving.close()
    assert verify(keeping.engine, archiving.settings, None).without_row == len(conversions(path))


def test_pages_of_one_shell_keep_their_answers_and_documents(archiving: Archiving, keeping: Worker, site: Site) -> None:
    """An application has one shell for all its URLs: the answer of the second repeats the first."""
    site.pages["/two"] = shell()
    start(keeping, site.url("/"))
    go(keeping)
    seeds.add(keeping.engine, keeping.settings, find(keeping.engine, "c"), [site.url("/two")])
    go(keeping)
    assert render(keeping, Stand()) == 2
    archiving.close()
    captures = [each for each in all_captures(keeping.engine, 1) if each.kind in {"page", "rendered"}]
    answer, twin = (each for each in captures if each.kind == "page")
    assert twin.refers_to == answer.id
    sql(keeping.engine, "UPDATE segments SET closed_at = now() - interval '9 days'")
    sql(keeping.engine, "DELETE FROM pages WHERE url = :url", url=site.url("/"))
    retention.prune(keeping.engine, archiving.settings, days=7)
    left = {each.id for each in all_captures(keeping.engine, 1)}
    assert left == {each.id for each in captures if each.url == twin.url} | {answer.id}, "a body that a revisit repeats"
    archiving.close()
