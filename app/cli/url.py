"""`tiptoe url`: everything about one URL, and a second chance for it."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import orders
from app.cli.crawls import LIKENESS
from app.cli.database import open_database
from app.cli.options import retyped
from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json, shown
from app.cli.worth import show_parts
from app.model.reasons import words

if TYPE_CHECKING:
    from app.admin.explain import Explanation, InCrawl
    from app.admin.robots_report import Ruling

Facts = list[tuple[str, object]]

app = typer.Typer(no_args_is_help=True, help="One URL: why it was fetched or not, and another try.")

Url = Annotated[str, typer.Argument(metavar="URL", help=orders.SUBJECTS["url"][1])]


@app.command()
def why(url: Url, as_json: AsJson = False) -> None:
    """Explain why this URL was fetched, or not, and what it waits for: everything that is known, on one page."""
    from app.admin import explain

    with open_database() as (settings, engine):
        found = explain.why(engine, settings, url)
    show_json(found) if as_json else _show(found)


orders.add_to(app, "url")


def show_ruling(ruling: "Ruling") -> None:
    """Print robots.txt's ruling as facts."""
    facts(
        [
            ("robots.txt", ruling.sentence()),
            ("in force", ruling.in_force()),
            ("fetched", ruling.fetched_at),
            ("asked again", ruling.asked_again()),
            ("crawl-delay", ruling.crawl_delay_s),
            ("visit-time", ruling.visiting()),
            ("sitemaps", list(ruling.sitemaps)),
            ("host", f"{ruling.host} (recorded, decides nothing)" if ruling.host else None),
            ("opt-outs", ruling.opt_out),
        ]
    )


def _show(found: "Explanation") -> None:
    answer(shown(found.url or found.asked))
    facts([("changed", change) for change in found.changed])
    if found.url is None:
        answer("  no URL that can be crawled; it was met as a link")
    elif not found.crawls:
        answer("  no crawl knows this URL")
    for row in found.crawls:
        heading(f"in crawl {row.crawl} ({row.crawl_state}): {row.state}")
        facts([*_standing(row), *_history(row), *_document(row)])
    for would_be in found.elsewhere:
        heading(f"in crawl {would_be.crawl} (does not know it)")
        facts(
            [
                ("scope", would_be.verdict),
                *(("found on", page) for page in would_be.found_on),
                *(("not all links read of", page) for page in would_be.links_cut),
            ]
        )
    if found.host is not None:
        heading(f"host {found.host['name']}")
        facts(
            [
                ("waits for", found.host_waits_for and retyped(found.host_waits_for)),
                ("not sent", found.host_unsent),
                ("delay", f"{found.host['delay_s']:g} s"),
                ("queue", found.host["queue"]),
            ]
        )
    if found.robots is not None:
        heading("robots.txt")
        show_ruling(found.robots)
    if found.suppressions:
        heading("refused as a link")
        rows_table(("crawl", "reason", "count", "found_on", "last_at", "detail"), found.suppressions)
    if found.fetches:
        heading("latest requests")
        rows_table(
            ("started_at", "reason", "attempt", "status", "outcome", "failure", "total_ms", "detail"), found.fetches
        )


def _standing(row: "InCrawl") -> Facts:
    """Where the URL stands in the crawl, and what made it so."""
    from app.policy.focus.score import unpacked

    url, duplicate = row.url, row.duplicate
    return [
        *(("waits for", retyped(line)) for line in row.waits_for),
        ("cause", url["cause"] and words(url["cause"], url["detail"])),
        ("alias of", url["alias_of"]),
        ("directives", url["directives"]),
        ("opt-outs", url["opt_out"]),
        *(("what came of it", line) for line in row.effects),
        ("duplicate", duplicate and f"{LIKENESS[duplicate['kind']]}: {duplicate['of_url']}"),
        ("scope", row.scope),
        ("found on", url["found_on"] or "nowhere: it is a seed"),
        ("depth", url["depth"]),
        ("redirects before it", url["hops"] or None),
        ("lane and score", f"p{url['lane']}, {url['score']:.3g}"),
        ("score", url["score_parts"] is not None and show_parts(unpacked(url["score_parts"]))),
    ]


def _history(row: "InCrawl") -> Facts:
    """When it was fetched and has changed, and when it is due."""
    from app.admin.waiting import last_ending

    url = row.url
    often = url["change_s"] and f"every {url['change_s'] / url['change_shape'] / 86400:.3g} d, as believed"
    return [
        ("attempts", f"{url['attempts']} since the last good one"),
        ("last fetch", url["fetched_at"]),
        ("last ending", last_ending(url)),
        ("last changed", url["changed_at"]),
        ("etag", url["etag"]),
        ("last-modified", url["last_modified"]),
        ("body SHA-256", url["body_sha256"]),
        ("text SHA-256", url["text_sha256"]),
        ("recrawl interval", url["interval_s"] and f"{url['interval_s'] / 3600:.1f} h"),
        ("changes", often),
        ("due", url["due_at"]),
    ]


def _document(row: "InCrawl") -> Facts:
    """Its page, as far as it is kept."""
    from app.model.render import lines

    page = row.page
    return [
        ("title", page and page["title"]),
        ("content type", page and page["content_type"]),
        ("rel=canonical", page and page["canonical_url"]),
        *(("empty without JavaScript", line) for line in lines((page and page["needs_script"]) or {})),
        *(("rendering", line) for line in row.rendering),
        *(("archived", each.line) for each in row.archived),
        ("archived", row.unarchived and retyped(f"no: {row.unarchived}")),
        ("links", page and f"{page['links']}{' read, of more' if page['links_cut'] else ''}"),
        ("admitted", row.url["admitted_at"]),
    ]
