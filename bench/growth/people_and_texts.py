"""The inputs that grow: labels of assessors, query logs, texts, projects of judging."""

import json
from pathlib import Path

from bench.growth.inputs import collection, command, judged, kept, mixed, rows

WORDS = [f"{a}{b}{c}" for a in ("ba", "ko", "li", "mun", "ter") for b in ("ra", "sti", "ve", "lo") for c in "nstkm"]


def labels(folder: Path, documents: int, assessors: int = 20) -> None:
    """Three labels for each document, in topics of 100 documents."""

    def line(doc: int, vote: int) -> str:
        worker, label = mixed(3 * doc + vote, assessors // 3) * 3 + vote, (doc + (mixed(doc + vote, 5) == 0)) % 3
        return f"t{doc // 100},d{doc},w{worker},{label}"

    lines = (line(doc, vote) for doc in range(documents) for vote in range(3))
    rows(folder / "labels.csv", "topic,doc,worker,label", lines)


def many_assessors(folder: Path, assessors: int) -> None:
    """Labels of many assessors, 50 from each."""
    labels(folder, assessors * 50 // 3, assessors)


def labelled_runs(folder: Path, topics: int) -> None:
    """Labels of the judged documents of a collection, and its runs."""
    collection(folder, topics)
    lines = (folder / "qrels.txt").read_text().splitlines()
    rows(folder / "labels.csv", "topic,doc,worker,label", (
        f"{topic},{doc},w{vote},{(int(grade) + (mixed(n + vote, 5) == 0)) % 3}"
        for n, (topic, _, doc, grade) in enumerate(map(str.split, lines)) for vote in range(3)
    ))  # fmt: skip


def sentence(number: int, length: int) -> str:
    return " ".join(WORDS[mixed(number * 31 + place, len(WORDS))] for place in range(length))


def queries(folder: Path, size: int) -> None:
    """Lines of queries of three words and a number; rare ones are new, frequent ones occur again."""
    rows(folder / "queries.txt", "", (
        f"{sentence(n, 3)} {n % 1000}" if n % 3 else sentence(mixed(n, 40), 2) for n in range(size)
    ))  # fmt: skip


def texts(folder: Path, topics: int, length: int = 40) -> None:
    """Two systems and a reference, with a text for each topic."""
    for number, name in enumerate(("mine", "other", "reference")):
        rows(folder / f"{name}.jsonl", "", (
            json.dumps({"topic": f"t{n}", "text": sentence(n * 7 + number * (mixed(n, 3) == 0), length)})
            for n in range(topics)
        ))  # fmt: skip


def long_texts(folder: Path, length: int) -> None:
    """Texts of four topics that get longer."""
    texts(folder, 4, length)


def nuggets(folder: Path, topics: int) -> None:
    rows(folder / "nuggets.tsv", "topic\tnugget\ttype\tweight\ttext", (
        f"t{n}\tn{k}\t{'vital' if k else 'okay'}\t1\t{sentence(n + k, 4)}" for n in range(topics) for k in range(5)
    ))  # fmt: skip
    rows(folder / "assignments.tsv", "topic\trun\tnugget\tsupport", (
        f"t{n}\t{run}\tn{k}\t{('support', 'partial', 'not_support')[mixed(n + k, 3)]}"
        for n in range(topics) for run in ("mine", "other") for k in range(5)
    ))  # fmt: skip


def answers(folder: Path, topics: int) -> None:
    rows(folder / "citations.tsv", "run\ttopic\tsentence\tcitation\tsupport", (
        f"mine\tt{n}\t{k + 1}\td{mixed(n + k, 9999)}\t{mixed(n + 2 * k, 2)}" for n in range(topics) for k in range(6)
    ))  # fmt: skip


def one_click(folder: Path, topics: int) -> None:
    texts(folder, topics)
    rows(folder / "iunits.tsv", "topic\tiunit\tweight\tvital_string", (
        f"t{n}\tu{k}\t1\t{WORDS[k]}" for n in range(topics) for k in range(4)
    ))  # fmt: skip
    rows(folder / "spans.tsv", "topic\tiunit\trun\tstart\tend", (
        f"t{n}\tu{k}\tmine\t{20 * k}\t{20 * k + 6}" for n in range(topics) for k in range(4)
    ))  # fmt: skip


def passages(folder: Path, topics: int) -> None:
    rows(folder / "spans.tsv", "topic\tdoc\tstart\tend", (
        f"t{n}\td{k}\t{100 * k}\t{100 * k + 60}" for n in range(topics) for k in range(10)
    ))  # fmt: skip
    for shift, name in ((30, "mine"), (50, "other")):
        rows(folder / f"{name}.tsv", "topic\tdoc\tstart\tend\trank", (
            f"t{n}\td{k}\t{100 * k + shift}\t{100 * k + shift + 60}\t{k + 1}" for n in range(topics) for k in range(10)
        ))  # fmt: skip


def document_preferences(folder: Path, topics: int, documents: int = 20) -> None:
    """Ten preferences a topic, and a run with `documents` documents."""
    rows(folder / "preferences.tsv", "topic\tfirst\tsecond\tpreferred", (
        f"{topic}\td{n}\td{n + 1 + topic % 5}\td{n}" for topic in range(topics) for n in range(10)
    ))  # fmt: skip
    rows(folder / "mine.run", "", (
        f"{topic} Q0 d{n} {n + 1} {documents - n} mine" for topic in range(topics) for n in range(documents)
    ))  # fmt: skip


def longer_lists(folder: Path, documents: int) -> None:
    document_preferences(folder, 20, documents)


def trailtexts(folder: Path, topics: int) -> None:
    rows(folder / "trailtext.tsv", "topic\tgain\tlength", (
        f"{topic}\t{n % 3}\t{100 + n}" for topic in range(topics) for n in range(10)
    ))  # fmt: skip


def item_labels(folder: Path, items: int) -> None:
    for shift, name in enumerate(("gold", "mine")):
        rows(folder / f"{name}.csv", "item,label", (f"i{n},c{(n + shift * (n % 7 == 0)) % 5}" for n in range(items)))


def verticals(folder: Path, topics: int) -> None:
    rows(folder / "qrels.txt", "", (f"t{n} 0 d{k} {k % 3}" for n in range(topics) for k in range(10)))
    rows(folder / "orientation.tsv", "topic\tvertical\torientation", (
        f"t{n}\t{name}\t{share}" for n in range(topics) for name, share in (("web", 0.6), ("news", 0.4))
    ))  # fmt: skip
    for shift, name in ((0, "mine"), (3, "other")):
        rows(folder / f"{name}.tsv", "topic\tblock\tvertical\tdoc", (
            f"t{n}\t{k + 1}\t{'web' if (k + shift) % 4 else 'news'}\td{(k + shift) % 10}"
            for n in range(topics) for k in range(8)
        ))  # fmt: skip


def sessions(folder: Path, size: int) -> None:
    rows(folder / "qrels.txt", "", (f"t{n} 0 d{k} {k % 3}" for n in range(100) for k in range(30)))
    rows(folder / "mine.jsonl", "", (
        json.dumps({
            "session": f"s{n}", "topic": f"t{n % 100}", "query": query + 1,
            "list": [f"d{(10 * query + k + n) % 60}" for k in range(10)],
        })
        for n in range(size) for query in range(3)
    ))  # fmt: skip


def documents(folder: Path, size: int) -> None:
    """Topics, and documents with texts."""
    rows(folder / "topics.tsv", "", (f"{n}\t{sentence(n, 3)}" for n in range(20)))
    rows(folder / "docs.jsonl", "", (json.dumps({"id": f"d{n}", "text": sentence(n, 20)}) for n in range(size)))
    rows(folder / "pool.tsv", "topic\tdoc", (f"{n % 20}\td{n}" for n in range(size)))


def twelve_topics(folder: Path, size: int) -> None:
    rows(folder / "topics.tsv", "", (f"{n}\t{sentence(n, 3)}" for n in range(12)))


def judgments(folder: Path, topics: int) -> None:
    """A database of judgments."""
    project(folder, topics)
    command(folder, "judge import judgments.db qrels.txt --assessor anna --quiet")


def project(folder: Path, topics: int) -> None:
    """A database without judgments, and judgments to read into it."""
    from cranfield.building.serve.project.judging_project import prepare
    from cranfield.building.serve.project.store import Store

    kept(folder / "qrels.txt", judged, topics, 50)
    lines = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    rows(
        folder / "topics.tsv", "", (f"{topic}\t{sentence(1, 3)}" for topic in dict.fromkeys(line[0] for line in lines))
    )
    rows(folder / "pool.tsv", "topic\tdoc", (f"{topic}\t{doc}" for topic, _, doc, _ in lines))
    names = {"topics": str(folder / "topics.tsv"), "pool": str(folder / "pool.tsv")}
    rows(
        folder / "docs.jsonl",
        "",
        (json.dumps({"id": doc, "text": "x"}) for doc in dict.fromkeys(line[2] for line in lines)),
    )
    with Store(str(folder / "judgments.db")) as store:
        prepare(store, **names, docs=(str(folder / "docs.jsonl"),))
    for name in ("topics.tsv", "pool.tsv", "docs.jsonl"):
        (folder / name).unlink()


def campaign(folder: Path, size: int) -> None:
    """A campaign with documents."""
    documents(folder, size)
    command(folder, "campaign init notes --topics topics.tsv --docs docs.jsonl")


def exported(folder: Path, size: int) -> None:
    """The files of a campaign."""
    campaign(folder, size)
    command(folder, "campaign export notes files")


def ratings(folder: Path, users: int) -> None:
    collection(folder)
    rows(folder / "ratings.csv", "user,topic,system,rating", (
        f"u{n},1{mixed(n + k, 20):07},r{k:05},{1 + mixed(n * 4 + k, 5)}" for n in range(users) for k in range(4)
    ))  # fmt: skip


def builds(folder: Path, size: int) -> None:
    """The history of a gate."""
    collection(folder)
    words = "gate qrels.txt runs/r00000.run --at-least AP=0 --history builds.jsonl"
    command(folder, words)
    (line,) = (folder / "builds.jsonl").read_text().splitlines()
    rows(folder / "builds.jsonl", "", (line for _ in range(size)))
