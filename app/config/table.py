"""The settings as the Markdown of docs/settings.md: `python -m app.config.table` prints it."""

from app.config.constants import Constants, variable
from app.config.settings import Settings

GROUPS = {
    "Where things are (for those who install Tiptoe)": "home",
    "Who we are: for everyone who crawls public sites": "product_token",
    "Whom we talk to: for crawls of sites of your own": "allow_networks",
    "Pace: for a slower crawl, or a faster one by leave of the site": "default_delay_s",
    "What is read and kept (for those who design a crawl)": "request_deadline_s",
    "The frontier: for crawls that find more than fits": "frontier_max_per_host",
    "The fleet: for workers on several cores and machines": "queues",
    "Handlers (for those who extract items)": "handlers",
    "Rendering (for those who crawl pages that need JavaScript)": "chromium",
    "Logs (for those who read them)": "log_format",
    "Metrics (for those who watch a fleet)": "log_trace",
    "The archive (for those who keep what was fetched)": "archive",
    "The dashboard (for those who use it)": "web_listen",
}  # the first setting of each


def table() -> str:
    """Every setting, a table for each group."""
    headings = {first: heading for heading, first in GROUPS.items()}
    lines: list[str] = []
    for name in _in_order():
        field = Settings.model_fields[name]
        if name in headings:
            lines += ["", f"## {headings[name]}", "", "| variable | default | what it is |", "| --- | --- | --- |"]
        lines.append(f"| `{variable(name)}` | {_shown(field.get_default())} | {field.description} |")
    return "\n".join(lines[1:])


def _in_order() -> list[str]:
    """The settings, group by group: those of a class of their own come first among the fields."""
    places, place, found = {first: n for n, first in enumerate(GROUPS.values())}, 0, []
    for name in Settings.model_fields:
        if name not in Constants.model_fields:
            place = places.get(name, place)
            found.append((place, name))
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]


def constants() -> str:
    """Every constant, as the table at the end of the page."""
    rows = [
        f"| `{name}` | {_shown(field.get_default())} | {field.description} |"
        for name, field in Constants.model_fields.items()
    ]
    return "\n".join(["| constant | value | what it is |", "| --- | --- | --- |", *rows])


def _shown(default: object) -> str:
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ", ".join(default) or "none"
    return str(default)


if __name__ == "__main__":
    print(table(), "", constants(), sep="\n")
