"""Make the collections for the benchmarks: the same bytes every time, with numpy, without a Python loop over lines.

`python -m bench.data FOLDER PART ...` writes the files that these parts of the benchmark need and that do not exist. No
two scores of a list are equal, even as 32-bit floats, because tools break ties differently.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

LARGE = (6980, 1000)  # topics and documents per topic, as in a run on the MS MARCO passage development set
SCALE = [((6980, 100), (6980, 1000)), ((698, 1000), (698, 10_000))]  # each pair: ten times the documents per topic
MANY_RUNS, MANY_TOPICS, MANY_DEPTH = 129, 50, 1000  # the size of TREC-8 ad hoc
DIVERSE_RUNS, DIVERSE_TOPICS, DIVERSE_INTENTS, DIVERSE_DEPTH = 30, 50, 20, 1000


def passages(folder: Path, topics: int, depth: int) -> tuple[Path, Path]:
    """Make qrels and one large run: ids are numbers, with about 1.06 relevant passages per topic."""
    qrels, run = folder / f"passages-{topics}x{depth}.qrels", folder / f"passages-{topics}x{depth}.run"
    if not (qrels.exists() and run.exists()):
        rng = np.random.default_rng([1, topics, depth])
        ids = rng.choice(np.arange(100_000, 1_200_000), topics, replace=False)
        walk = Walk(rng, topics, 9_999_991)

        # 86 % of relevant passages are retrieved, at ranks spread evenly on a log scale; a second one is further down.
        found = rng.random(topics) < 0.86
        first = np.where(found, depth ** rng.random(topics) - 1, depth + 7).astype(int)
        second = first + rng.integers(1, 500, topics)
        has_second = rng.random(topics) < 0.06
        topic = np.concatenate([np.arange(topics), np.flatnonzero(has_second)])
        relevant = 1_000_000 + walk(topic, np.concatenate([first, second[has_second]]))
        order = np.argsort(topic, kind="stable")
        save(qrels, [lines(ids[topic][order].astype("S7"), b"0", relevant[order].astype("S8"), b"1")])

        def part(chunk: np.ndarray) -> bytes:
            topic, position = (a.ravel() for a in np.meshgrid(chunk, np.arange(depth), indexing="ij"))
            score = falling_scores(rng, len(chunk), depth)
            doc = 1_000_000 + walk(topic, position)
            return lines(ids[topic].astype("S7"), b"Q0", doc.astype("S8"), (position + 1).astype("S5"), score, b"bm25")

        save(run, map(part, np.array_split(np.arange(topics), max(1, topics * depth // 500_000))))
    return qrels, run


def ad_hoc(folder: Path) -> tuple[Path, list[Path]]:
    """Make the qrels and the runs of a TREC-like track.

    Topics have 1,000 to 2,000 judged documents, of which 10 to 15 % are relevant with grades 1 to 3. The runs share
    documents, of which 17 % are judged. Ids are those of newspaper articles.
    """
    folder = folder / "ad-hoc"
    qrels, runs = folder / "qrels", [folder / f"run{number:03}.run" for number in range(1, MANY_RUNS + 1)]
    if all(path.exists() for path in (qrels, *runs)):
        return qrels, runs
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(2)
    ids = newspaper_ids(524_287)
    walk = Walk(rng, MANY_TOPICS, len(ids))
    topic_ids = np.arange(401, 401 + MANY_TOPICS).astype("S3")

    # The documents of a topic are numbered: relevant ones from 0, then the other judged ones, unjudged ones from 2,000.
    number, topic = np.arange(2000), np.arange(MANY_TOPICS)[:, None]
    judged = rng.integers(1000, 2000, (MANY_TOPICS, 1))
    relevant = (judged * rng.uniform(0.10, 0.15, (MANY_TOPICS, 1))).astype(int)
    grade = np.where(number < relevant, rng.choice([1, 2, 3], (MANY_TOPICS, 2000), p=[0.6, 0.3, 0.1]), 0)
    rows, columns = np.nonzero(number < judged)
    save(qrels, [lines(topic_ids[rows], b"0", ids[walk(rows, columns)], grade[rows, columns].astype("S1"))])

    position = np.arange(MANY_DEPTH)
    rows = np.repeat(np.arange(MANY_TOPICS), MANY_DEPTH)
    ranks = np.tile(position + 1, MANY_TOPICS).astype("S4")
    for path in runs:
        # Judged documents become rarer down the ranks, and a better run retrieves high grades earlier.
        is_judged = rng.random((MANY_TOPICS, MANY_DEPTH)) < np.exp(-position / 170)
        waiting = rng.exponential(size=grade.shape) / (1 + rng.uniform(1, 8) * grade)
        drawn = np.argsort(np.where(number < judged, waiting, np.inf), axis=1)
        pooled = np.take_along_axis(drawn, np.cumsum(is_judged, axis=1) - 1, axis=1)
        rest = 2000 + Walk(rng, MANY_TOPICS, 20_011)(topic, position)
        doc = ids[walk(rows, np.where(is_judged, pooled, rest).ravel())]
        score = falling_scores(rng, MANY_TOPICS, MANY_DEPTH)
        save(path, [lines(topic_ids[rows], b"Q0", doc, ranks, score, path.stem.encode())])
    return qrels, runs


def diverse(folder: Path) -> tuple[Path, list[Path]]:
    """Make the qrels with intents and the runs of a diversity track.

    Each topic has 1,000 documents, judged for each of its 20 intents and relevant (grade 1) to 15 % of them. Half of
    the retrieved documents are judged.
    """
    folder = folder / "diverse"
    qrels, runs = folder / "qrels", [folder / f"run{number:02}.run" for number in range(1, DIVERSE_RUNS + 1)]
    if all(path.exists() for path in (qrels, *runs)):
        return qrels, runs
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    ids = newspaper_ids(524_287)
    walk = Walk(rng, DIVERSE_TOPICS, len(ids))
    topic_ids = np.arange(101, 101 + DIVERSE_TOPICS).astype("S3")
    numbered = (np.arange(DIVERSE_TOPICS), np.arange(DIVERSE_DEPTH), np.arange(DIVERSE_INTENTS))
    rows, document, intent = (a.ravel() for a in np.meshgrid(*numbered, indexing="ij"))
    grade = (rng.random(len(rows)) < 0.15).astype(int).astype("S1")
    save(qrels, [lines(topic_ids[rows], (intent + 1).astype("S2"), ids[walk(rows, document)], grade)])

    rows = np.repeat(np.arange(DIVERSE_TOPICS), DIVERSE_DEPTH)
    ranks = np.tile(np.arange(1, DIVERSE_DEPTH + 1), DIVERSE_TOPICS).astype("S4")
    for path in runs:
        drawn = np.argsort(rng.random((DIVERSE_TOPICS, 2 * DIVERSE_DEPTH)), axis=1)[:, :DIVERSE_DEPTH]
        score = falling_scores(rng, DIVERSE_TOPICS, DIVERSE_DEPTH)
        save(path, [lines(topic_ids[rows], b"Q0", ids[walk(rows, drawn.ravel())], ranks, score, path.stem.encode())])
    return qrels, runs


class Walk:
    """Distinct pseudo-random numbers below a prime for each topic: the n-th is (start + n * stride) mod prime."""

    def __init__(self, rng: np.random.Generator, topics: int, prime: int) -> None:
        self.start, self.stride = rng.integers(1, prime, (2, topics))
        self.prime = prime

    def __call__(self, topic: np.ndarray, n: np.ndarray) -> np.ndarray:
        numbers: np.ndarray = (self.start[topic] + n * self.stride[topic]) % self.prime
        return numbers


def falling_scores(rng: np.random.Generator, topics: int, depth: int) -> np.ndarray:
    """Return scores with six decimals that decrease along each list, in steps that 32-bit floats can represent."""
    steps = rng.integers(50, 24_000, (topics, depth))
    millionths = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1].ravel() + 8_000_000
    decimals = (millionths % 10**6 + 10**6).astype("S7").view("u1").reshape(-1, 7).copy()
    decimals[:, 0] = ord(".")  # replaces the 1 that kept the leading zeros
    return np.char.add((millionths // 10**6).astype("S3"), decimals.view("S7").ravel())


def newspaper_ids(count: int) -> np.ndarray:
    """Return ids such as WSJ870102-0001, WSJ870102-0002: 200 articles per day."""
    day, article = np.divmod(np.arange(count), 200)
    dashed = np.datetime_as_string(np.datetime64("1987-01-02") + day).astype("S10").view("u1").reshape(-1, 10)
    date = dashed[:, [2, 3, 5, 6, 8, 9]].copy().view("S6").ravel()
    number = (article + 10_001).astype("S5").view("u1").reshape(-1, 5)[:, 1:].copy().view("S4").ravel()
    return np.char.add(np.char.add(b"WSJ", date), np.char.add(b"-", number))


def lines(*columns: np.ndarray | bytes) -> bytes:
    """Join columns to lines. numpy pads byte strings with zero bytes; a mask over the whole table removes them."""
    height = max(len(column) for column in columns if isinstance(column, np.ndarray))
    fields = []
    for column in columns:
        field = np.ascontiguousarray(np.broadcast_to(np.asarray(column), height))
        fields += [field.view("u1").reshape(height, -1), np.full((height, 1), ord(" "), "u1")]
    fields[-1][:] = ord("\n")
    table = np.hstack(fields)
    return bytes(table[table != 0])


def save(path: Path, parts: Iterable[bytes]) -> None:
    """Write to a temporary name and rename, so that an interrupted run leaves no incomplete file."""
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as file:
        file.writelines(parts)
    unfinished.rename(path)


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    if {"large", "dicts"} & set(names):
        passages(folder, *LARGE)
    if "scale" in names:
        for sizes in SCALE:
            for size in sizes:
                passages(folder, *size)
    if {"many", "start", "inputs", "commands", "report"} & set(names):
        ad_hoc(folder)
    if "diversity" in names:
        diverse(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
