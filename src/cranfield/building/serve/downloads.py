"""Files that people download: written to a temporary file first, and sent from there, in little memory.

So an error is a page and not half a file, and a slow reader does not keep a transaction of the database open.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

BLOCK = 1 << 16


async def download_of(write: Callable[[IO[bytes]], None], name: str, kind: str) -> Response:
    """The answer with what `write` writes, as a file with this name."""

    def written() -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115  (closed when it is sent)
        try:
            write(file)
        except BaseException:
            file.close()
            raise
        return file

    file = await run_in_threadpool(written)
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-length": str(file.tell())}
    file.seek(0)
    return StreamingResponse(_blocks(file), media_type=kind, headers=headers)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(BLOCK):
            yield block
