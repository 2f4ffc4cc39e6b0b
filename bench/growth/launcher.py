"""Run commands one after the other and report what each used; a small process, whose own memory does not count.

The peak memory that the system reports for a process is at least that of the process which started it. So the program
that makes the inputs, with numpy, lets this one start what is measured. Lines of JSON come in and go out.
"""

import json
import os
import resource
import sys

PATIENCE = 120
"""A command is ended after this many seconds of processor time."""


def run(words: list[str], folder: str) -> dict[str, float | int | str]:
    """Run a command in a folder; its processor time, peak memory in bytes and exit code."""
    output = os.open(os.path.join(folder, os.pardir, "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    errors = os.open(os.path.join(folder, os.pardir, "stderr"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(errors, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
            os.execvp(words[0], words)
        finally:
            os._exit(127)
    os.close(output)
    os.close(errors)
    _, status, used = os.wait4(child, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return {"seconds": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * unit, "code": status}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
