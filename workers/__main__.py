"""`python -P -m workers celery -A app worker …` runs Celery safely in any working folder.

Celery puts the working folder in front of the import path before it imports `app`. A package `app` or `workers` of the
user's own would be found there. So we import ours first, and put the folder at the path's end.
"""

import os
import sys

from celery.__main__ import main

import app.celery  # noqa: F401  # it configures Celery
import workers.dispatch
import workers.extract
import workers.maintenance
import workers.render
import workers.visit
import workers.watchdog  # noqa: F401  (Celery finds what is imported already)


def run() -> None:
    sys.path.append(os.getcwd())  # Celery leaves the path alone where the folder is in it
    sys.argv = sys.argv[1:]
    main()


if __name__ == "__main__":
    run()
