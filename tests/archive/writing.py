"""A process that writes the archive until it is killed: `… -m tests.archive.writing DATABASE_URL FOLDER CRAWL FIRST`.

It prints a line for each step of a settle.
"""

import sys
from pathlib import Path

from app.archive.writer import ArchiveWriter, Limits
from app.store import db
from tests.archive import answers
from tests.archive.deposits import deposit

AT_ONCE = 3


def main(database_url: str, folder: str, crawl: str, first: str) -> None:
    writer = ArchiveWriter(
        db.connect(database_url),
        Path(folder),
        node="here",
        worker=f"here:{first}",
        limits=Limits(200_000, 3_600),
        about={},
    )
    n = int(first)
    while True:
        deposit(
            writer,
            *(
                answers.recording(
                    answers.reply(answers.page(each, 20_000)), crawl_id=int(crawl), url=f"http://site.test/{each}"
                )
                for each in range(n, n + AT_ONCE)
            ),
            mark=lambda step: print(step, flush=True),
        )
        for file in writer.overdue():
            writer.close(file)
        n += AT_ONCE


if __name__ == "__main__":
    main(*sys.argv[1:])
