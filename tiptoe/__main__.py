"""`python -m tiptoe …` is the command `tiptoe …`.

Python puts the working folder in front of the import path; a package `app` of the user's own would be found there.
"""

import os
import sys


def main() -> None:
    """Run the command line, without the working folder on the import path."""
    if not sys.flags.safe_path and sys.path and os.path.abspath(sys.path[0]) == os.getcwd():
        del sys.path[0]
    from app.cli import main as run

    run()


if __name__ == "__main__":
    main()
