"""A mutant: one small change of one file, which some test is to notice. What it is called does not change with its
line."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.mutants import python, sql
from tests.mutants.cut import Cut

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app/policy", "app/store", "app/crawl", "app/beat", "app/runtime")
FEATURES = ("app/features/focus", "app/features/near", "app/features/search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """path: from the root of the tree.   nth: of those of the file that read alike, from 1 on."""

    path: str
    cut: Cut
    nth: int = 1

    @property
    def name(self) -> str:
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path} {self.cut.within}: {self.cut.told}{again}"


def of_tree(root: Path = ROOT) -> list[Mutant]:
    """Every mutant there is: of policy and crawl, of the store's queries, and of features with theirs."""
    files = [path for room in ROOMS for path in sorted((root / room).rglob("*.sql" if room == "app/store" else "*.py"))]
    found = (path for room in FEATURES for path in sorted((root / room).iterdir()) if path.suffix in {".py", ".sql"})
    files += [path for path in found if path.name != "part.py"]  # it answers the hooks, by the functions of the others
    return [each for path in files for each in of_file(path.relative_to(root).as_posix(), path.read_text())]


def of_file(path: str, source: str) -> list[Mutant]:
    cuts = sql.cuts(source) if path.endswith(".sql") else python.cuts(source)
    return _numbered(Mutant(path=path, cut=cut) for cut in cuts)


def _numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    seen: Counter[str] = Counter()
    numbered = []
    for each in mutants:
        seen[each.name] += 1
        numbered.append(replace(each, nth=seen[each.name]))
    return numbered
