"""`python -m tests.site`: build the site in .site/html. Exit 1 with zensical's words where a link leads nowhere."""

import sys

from tests.site.build import ROOT, build, stage


def main() -> int:
    stage(ROOT / ".site" / "pages")
    built = build(ROOT)
    sys.stderr.write(built.stdout + built.stderr if built.returncode else "the site is in .site/html\n")
    return min(built.returncode, 1)


if __name__ == "__main__":
    sys.exit(main())
