"""The inputs that grow: collections, labels, texts. The same size gives the same bytes."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from bench.contest import script
from bench.data import falling_scores, lines
from bench.growth.measuring import Case

Make = Callable[[Path, int], Sequence[str]]
TOPICS, DEPTH, RUNS = 20, 50, 4
"""The size of a collection in the dimensions that do not grow."""


def numbered(prefix: str, numbers: np.ndarray) -> np.ndarray:
    """Ids such as d0000017, as bytes."""
    return np.char.add(prefix.encode(), np.char.zfill(numbers.astype("S8"), 7))


def judged(path: Path, topics: int, depth: int, seed: int = 1) -> None:
    """Judgments of the first `2 * depth` documents of each topic, of which a fifth are relevant with grades 1 and 2."""
    rng = np.random.default_rng(seed)
    topic, doc = (part.ravel() for part in np.indices((topics, 2 * depth)))
    grade = np.where(doc % 5 == 0, 1 + doc % 2, 0)
    grade = np.where(rng.random(len(grade)) < 0.02 * (seed - 1), rng.integers(0, 3, len(grade)), grade)
    write(path, topic, b"0", doc, grade.astype("S1"))


def ranked(path: Path, topics: int, depth: int, number: int) -> None:
    """A run: `depth` of the first `4 * depth` documents of each topic, the relevant ones a little earlier."""
    rng = np.random.default_rng([2, number])
    relevant = np.arange(4 * depth) % 5 == 0
    waiting = rng.exponential(size=(topics, 4 * depth)) / (1 + (1 + number % 7) * relevant)
    doc = np.argsort(waiting, axis=1)[:, :depth].ravel()
    topic, rank = (part.ravel() for part in np.indices((topics, depth)))
    ranks, scores = (rank + 1).astype("S7"), falling_scores(rng, topics, depth)
    write(path, topic, b"Q0", doc, ranks, scores, path.stem.encode())


def write(path: Path, topic: np.ndarray, second: bytes, doc: np.ndarray, *more: np.ndarray | bytes) -> None:
    """Lines that begin with a topic, a word and a document of the topic."""
    number = numbered("d", topic * 100_003 % 9_999_991 + doc * 1009 % 9_999_991)
    path.write_bytes(lines(numbered("1", topic), second, number, *more))


def collection(folder: Path, topics: int = TOPICS, depth: int = DEPTH, runs: int = RUNS) -> None:
    """The judgments `qrels.txt`, and runs in the folder `runs`."""
    (folder / "runs").mkdir(parents=True)
    kept(folder / "qrels.txt", judged, topics, depth)
    for number in range(runs):
        kept(folder / f"runs/r{number:05}.run", ranked, topics, depth, number)


def kept(path: Path, make: Callable[..., None], *sizes: int) -> None:
    """Make a file once, for all verbs that need it, and link it to its place."""
    store = next(parent for parent in path.parents if parent.name == "input").parent.parent / "kept"
    store.mkdir(exist_ok=True)
    ready = store / "-".join([make.__name__, *map(str, sizes)])
    if not ready.exists():
        with tempfile.TemporaryDirectory(dir=store) as folder:
            make(Path(folder) / path.name, *sizes)
            (Path(folder) / path.name).rename(ready)
    os.link(ready, path)


def collections(
    words: str, *dimensions: str, extra: Callable[[Path, dict[str, int]], None] | None = None, **limits: object
) -> list[Case]:
    """A verb on judgments and runs: a case for each dimension among topics, documents (of each topic) and runs."""
    largest = {"topics": 200_000, "documents": 1_000_000, "runs": 2048}
    smallest = {"topics": TOPICS, "documents": DEPTH, "runs": RUNS}

    def case(dimension: str) -> Case:
        def make(folder: Path, size: int) -> list[str]:
            sizes = {**smallest, dimension: size}
            collection(folder, sizes["topics"], sizes["documents"], sizes["runs"])
            if extra is not None:
                extra(folder, sizes)
            return words.split()

        own = limits.get(dimension, {})
        assert isinstance(own, dict)
        return Case(dimension, make, (smallest[dimension], largest[dimension]), **own)

    return [case(dimension) for dimension in dimensions]


def grows(
    dimension: str,
    words: str,
    files: Callable[[Path, int], object],
    sizes: tuple[int, int] = (100, 1 << 22),
    **limits: float | str | tuple[int, ...],
) -> Case:
    """A case whose files a function writes; `{n}` in the words is the size."""

    def make(folder: Path, size: int) -> list[str]:
        files(folder, size)
        return [word.replace("{n}", str(size)) for word in words.split()]

    return Case(dimension, make, sizes, **limits)  # type: ignore[arg-type]


def nothing(folder: Path, size: int) -> None:
    """No files: the size is a number on the command line."""


def command(folder: Path, words: str) -> None:
    """Let a verb write what another verb reads."""
    done = subprocess.run(
        [script("cranfield"), *words.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"cranfield {words}: {done.stderr.strip()}")


def rows(path: Path, head: str, lines: Iterable[str]) -> None:
    """Write a head, unless it is empty, and lines."""
    path.write_text("".join(f"{line}\n" for line in (*([head] if head else []), *lines)))


def table(name: str, head: str, line: Callable[[int], str]) -> Callable[[Path, int], None]:
    """A file of as many rows as the size says."""
    return lambda folder, size: rows(folder / name, head, map(line, range(size)))


def mixed(number: int, below: int) -> int:
    """A number that looks like chance, the same every time."""
    return (number * 2_654_435_761 + 12_345) % 4_294_967_291 % below
