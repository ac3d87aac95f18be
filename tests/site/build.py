"""Puts the pages of the docs where zensical finds them, and builds the site.

Pages link to one another across folders, and to code. The site has the pages in the repository's own folders; a link to
what is no page is only its words there.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BESIDE = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "tests/fuzz/README.md")
CONFIG = "zensical.toml"
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]+)\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def pages() -> list[str]:
    """Every page, relative to the root."""
    return [*BESIDE, *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


def stage(into: Path) -> None:
    """Put the pages, their pictures and what the site loads there. What was there before is gone."""
    shutil.rmtree(into, ignore_errors=True)
    names = set(pages())
    for name in names:
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_for_site((ROOT / name).read_text(), Path(name).parent, names))
    for folder in ("screens", "vendor"):
        shutil.copytree(ROOT / "docs" / folder, into / "docs" / folder)


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of this folder, which has the configuration and .site/pages; a broken link is an error."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def _for_site(text: str, folder: Path, names: set[str]) -> str:
    """A page without links to what the site does not have. Fenced blocks stay as they are."""

    def kept(found: re.Match[str]) -> str:
        target = found["target"].partition("#")[0]
        is_outside = ":" in target or not target
        place = _normal(folder / target)
        return found[0] if is_outside or place in names or place.startswith("docs/screens/") else found["words"]

    parts, end = [], 0
    for fence in _FENCED.finditer(text):
        parts += [_LINK.sub(kept, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(kept, text[end:])])


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
