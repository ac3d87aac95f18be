"""Processes that write the archive until they are killed."""

from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.store import db
from tests.features.archive import answers
from tests.features.archive.deposits import deposit

AT_ONCE = 3


def start(database_url: str, folder: Path, crawl_id: int, first: int) -> tuple[BaseProcess, Connection]:
    """A writer of its own, and where it names each step of a settle. It is forked from one that has imported all."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    steps, told = context.Pipe(duplex=False)
    process = context.Process(target=write, args=(database_url, folder, crawl_id, first, told), daemon=True)
    process.start()
    told.close()
    return process, steps


def write(database_url: str, folder: Path, crawl_id: int, first: int, told: Connection) -> None:
    writer = ArchiveWriter(
        db.connect(database_url),
        folder,
        node="here",
        worker=f"here:{first}",
        limits=SegmentLimits(200_000, 3_600),
        about={},
    )
    n = first
    while True:
        deposit(
            writer,
            *(
                answers.recording(
                    answers.reply(answers.page(each, 20_000)), crawl_id=crawl_id, url=f"http://site.test/{each}"
                )
                for each in range(n, n + AT_ONCE)
            ),
            mark=told.send,
        )
        for file in writer.overdue():
            writer.close(file)
        n += AT_ONCE
