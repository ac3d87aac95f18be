"""The settings as the Markdown of docs/settings.md: `python -m tests.settings_table` prints it."""

import re
from pathlib import Path

from app.config import settings
from app.config.constants import Constants, variable
from app.config.settings import Settings

_LINE = re.compile(r"^    (?:# (?P<heading>.+)|(?P<name>[a-z_]+): .+)$", re.MULTILINE)


def table() -> str:
    """Every setting, a table for each group, headed by the comment above its first."""
    _, _, fields = Path(settings.__file__).read_text().partition("class Settings(")
    lines: list[str] = []
    for match in _LINE.finditer(fields):
        name, heading = match["name"], match["heading"]
        if heading:
            lines += ["", f"## {heading}", "", "| variable | default | what it is |", "| --- | --- | --- |"]
        elif name in Settings.model_fields:
            field = Settings.model_fields[name]
            lines.append(f"| `{variable(name)}` | {_shown(field.get_default())} | {field.description} |")
    return "\n".join(lines[1:])


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
