"""The process of `tests.faults.valve`: `python -m tests.faults.valve_server ADDRESS PORT TARGET PORT`. Standard library
only.

PORT 0: one that is free. Prints the port it listens on; hands on every byte between a connection there and one to
TARGET.
"""

import asyncio
import contextlib
import sys
from functools import partial

CHUNK_BYTES = 64 * 1024


async def main(address: str, port: int, target: str, target_port: int) -> None:
    server = await asyncio.start_server(partial(_hand_on, target, target_port), address, port, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _hand_on(target: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        behind, before = await asyncio.open_connection(target, port)
    except OSError:
        writer.transport.abort()
        return
    await asyncio.gather(_pour(reader, before), _pour(behind, writer))


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All of it; the end of one side is the end of the other."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
