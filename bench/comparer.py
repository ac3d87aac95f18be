"""A process that compares pages until none waits: `python -m bench.comparer DATABASE_URL LOT`.

It prints its seconds, its seconds of CPU, those that it waited for locks, and the pages that it compared.
Reads a line first, so that several begin at once.
"""

import sys
import time

from app.beat import find_near
from app.beat.near_memory import NearMemory
from app.store import db


def main(url: str, lot: int) -> None:
    find_near.AT_ONCE = lot
    engine, memory, pages = db.connect(url), NearMemory(), 0
    with db.transaction(engine) as tx:
        memory.read(tx)  # numpy is imported with it
    sys.stdin.readline()
    began_s, cpu_s = time.monotonic(), time.process_time()
    with engine.connect() as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        while connection.exec_driver_sql("SELECT EXISTS (SELECT FROM near_queue)").scalar_one():
            pages += find_near.find_near(engine, memory=memory).pages
    print(time.monotonic() - began_s, time.process_time() - cpu_s, memory.waited_s, pages)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
