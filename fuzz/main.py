"""`fuzz/run TARGET [SECONDS] [SEED]`, and `fuzz/run TARGET FILE` for an input that was kept."""

from __future__ import annotations

import sys
from pathlib import Path

import files
import logs
import projects
import reader
import tables
import texts
import uploads
from fuzzing import again, fuzz

TARGETS = {
    **reader.TARGETS, **texts.TARGETS, **files.TARGETS, **tables.TARGETS, **logs.TARGETS, **projects.TARGETS,
    **uploads.TARGETS,
}  # fmt: skip


def main() -> None:
    name, *more = sys.argv[1:] or ["reader"]
    if name == "--list":
        print(*TARGETS)
        return
    if name not in TARGETS:
        sys.exit(f"fuzz/run: no target {name!r}; there are {', '.join(TARGETS)}")
    if more and Path(more[0]).is_file():
        again(TARGETS[name], Path(more[0]))
        return
    seconds, seed = float(more[0]) if more else 60.0, int(more[1]) if len(more) > 1 else 0
    sys.exit(not fuzz(name, TARGETS[name], seconds, seed))


if __name__ == "__main__":
    main()
