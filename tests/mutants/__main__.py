"""`make mutants`: change one small thing of policy, of the store's queries or of crawl, and see whether a test notices.

Mutants are drawn by --seed; the same seed draws the same from the same sources. Each is tried in a copy of the tree, by
the tests whose imports lead to it, the closest first, up to the first failure. Survivors are to get a test, or a line
in known.toml that says why none can tell them from the code. The exit code is 1 when one survived that is not known, 2
when nothing can be tried.
"""

import argparse
import random
import sys
import time
from collections import Counter

from tests.mutants import cover, known, mutant, trial
from tests.mutants.mutant import Mutant
from tests.mutants.trial import Fate, NoVerdict

KNOWN = "known"


def main() -> int:
    arguments = _arguments()
    drawn = draw(mutant.of_tree(), arguments.under, arguments.seed, arguments.most)
    if not drawn:
        print(f"no file in {', '.join(mutant.ROOMS)} begins with {' or '.join(arguments.under)}", file=sys.stderr)
        return 2
    if arguments.list:
        print(*(f"{each.path}:{each.cut.line} {each.name}" for each in drawn), sep="\n")
        return 0
    try:
        fates, survivors = _try(drawn, arguments)
    except NoVerdict as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    print(f"{len(drawn)} mutants of seed {arguments.seed}:", ", ".join(f"{n} {fate}" for fate, n in fates.items()))
    for each in survivors:
        print(f"SURVIVED {each.path}:{each.cut.line}\n    {each.name}")
    return 1 if survivors else 0


def draw(mutants: list[Mutant], under: list[str], seed: int, most: int) -> list[Mutant]:
    """So many of those in these files, in an order of the seed's."""
    wanted = [each for each in mutants if not under or each.path.startswith(tuple(under))]
    random.Random(seed).shuffle(wanted)
    return wanted[:most]


def _try(drawn: list[Mutant], arguments: argparse.Namespace) -> tuple[Counter[str], list[Mutant]]:
    """How many met which fate, and the survivors that are not known. Raises NoVerdict."""
    fates: Counter[str] = Counter()
    survivors = []
    until = time.monotonic() + arguments.minutes * 60
    explained = known.reasons()
    with trial.copied(arguments.seed) as copy:
        tests = {each.name: cover.tests_of(each.path, each.cut.within)[: arguments.files] for each in drawn}
        copy.check(sorted({files[0] for files in tests.values()}), arguments.timeout)
        for each in drawn:
            left_s = until - time.monotonic()
            if each.name in explained:
                fates[KNOWN] += 1
                continue
            if left_s <= 0:
                fates["not tried"] += 1
                continue
            verdict = copy.judge(each, tests[each.name], min(arguments.timeout, left_s))
            fates[verdict.fate.value] += 1
            print(f"{verdict.fate.value:9} {each.name}{'   by ' + verdict.by if verdict.by else ''}", flush=True)
            if verdict.fate is Fate.SURVIVED:
                survivors.append(each)
    return fates, survivors


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants ARGS=…", description=__doc__)
    parser.add_argument(
        "under", nargs="*", help="only files that begin so: app/policy, app/crawl/request/slots.py; D: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw; D: 0")
    parser.add_argument("--most", type=_count, default=20, help="mutants; D: 20")
    parser.add_argument("--minutes", type=float, default=30.0, help="no mutant is begun after them; D: 30")
    parser.add_argument("--files", type=_count, help="test files for each mutant, the closest; D: all that can notice")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the tests of one mutant; D: 600")
    parser.add_argument("--list", action="store_true", help="try nothing; tell what is drawn")
    return parser.parse_args()


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1 is needed")
    return number


if __name__ == "__main__":
    sys.exit(main())
