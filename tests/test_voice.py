"""The voice of the code: how a docstring begins, and how promises are cited. The rest of it is for reviewers."""

import ast
import re
from pathlib import Path

import pytest

from tests.statements import statements

ROOT = Path(__file__).parents[1]
MOST_WORDS = 25
RIDDLES = ("who", "whom", "whose", "what", "whatever", "which", "of", "as", "the same")
ROOMS = ("app", "tiptoe", "workers", "migrations")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".sql"})
MODULES = [path for path in FILES if path.suffix == ".py"]
_OPENING = re.compile(r"(.+?)(?:[.?!](?=\s|$)|\n\n|\Z)", re.DOTALL)


def opening(docstring: str) -> str:
    """The first sentence on one line; a paragraph or a list of fields ends it too."""
    lines = docstring.strip().split("\n\n")[0].splitlines()
    prose = next((lines[:n] for n, line in enumerate(lines) if "   " in line), lines) or lines[0].split("   ")[:1]
    found = _OPENING.match("\n".join(prose))
    return " ".join(found[1].split()) if found else ""


def faults(sentence: str) -> list[str]:
    """The rules that an opening sentence breaks."""
    found = [f"starts with {word!r}" for word in RIDDLES if re.match(rf"{word}\b", sentence, re.IGNORECASE)]
    words = len(sentence.split())
    return found + ([f"has {words} words"] if words > MOST_WORDS else [])


def docstrings(path: Path) -> list[tuple[int, str]]:
    """(line, docstring) of a module, its classes and its functions."""
    found = []
    for node in statements(path):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                found.append((node.body[0].lineno, docstring))
    return found


# docstring, its opening sentence, rules broken
@pytest.mark.parametrize(
    ("docstring", "sentence", "broken"),
    [
        ("Seconds to wait. None: no header.", "Seconds to wait", 0),
        ("Ends at a\nparagraph\n\nnot here", "Ends at a paragraph", 0),
        ("Scope of a crawl   kind: which", "Scope of a crawl", 0),
        ("Reads robots.txt (section 2.3.1).", "Reads robots.txt (section 2.3.1)", 0),
        ("Who comes first stays.", "Who comes first stays", 1),
        ("The same for a link.", "The same for a link", 1),
        ("Of a page: its links.", "Of a page: its links", 1),
        ("Offers of a queue.", "Offers of a queue", 0),
        (" ".join(["word"] * 26), " ".join(["word"] * 26), 1),
        ("What " + " ".join(["word"] * 25), "What " + " ".join(["word"] * 25), 2),
    ],
)
def test_rules_tell_plain_from_riddle(docstring: str, sentence: str, broken: int) -> None:
    assert opening(docstring) == sentence
    assert len(faults(sentence)) == broken


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_open_plainly(room: str) -> None:
    judged = [
        (f"{path.relative_to(ROOT)}:{line}", opening(docstring))
        for path in MODULES
        if path.is_relative_to(ROOT / room)
        for line, docstring in docstrings(path)
    ]
    assert judged
    assert [(place, fault, said) for place, said in judged for fault in faults(said)] == []


def test_promises_are_cited_as_promises() -> None:
    cited = [
        (str(path.relative_to(ROOT)), found)
        for path in FILES
        for found in re.findall(r"SPEC [A-Z][0-9]+", path.read_text())
    ]
    assert cited == []
