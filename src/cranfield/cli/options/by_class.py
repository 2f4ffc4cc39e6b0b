"""`--by FILE`: the result of a verb for each class of topics, in any format."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from cranfield.cli.declare import SIDE, option
from cranfield.cli.options import Collection
from cranfield.cli.printing import Output
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run
    from cranfield.scores.scores import Scores
    from cranfield.scores.topic_classes import TopicClasses

Part = tuple[str, int, str]
"""The name of a class, the number of its topics, and the text of its result."""


NOT_WITH = ("write", "collection", "collections", "across", "shards", "facet", "gains", "pool", "variance")
"""Options that need one result, or scores of several files."""
Split = TypeVar("Split", bound="Scores | Experiment")


class Experiment(NamedTuple):
    """Judgments and runs on some topics."""

    qrels: Qrels
    runs: dict[str, Run]

    @property
    def topics(self) -> tuple[str, ...]:
        return self.qrels.topics

    def by_class(self, classes: TopicClasses) -> dict[str, Experiment]:
        """The classes that have judged topics; a run keeps all its topics of the class, judged or not."""
        from cranfield.scores.topic_classes import topics_by_class

        parts: dict[str, Experiment] = {}
        for name, topics in topics_by_class(self.topics, classes).items():
            members = [topic for topic, of_topic in classes.items() if of_topic == name]
            runs = {run: lists.of_topics(members) for run, lists in self.runs.items()}
            parts[name] = Experiment(self.qrels.of_topics(topics), runs)
        return parts


class SplitByClass(Output):
    """A verb whose input can be split by classes of topics: it runs once for each class, on the topics of the class.

    Its `run` reads files only in the functions that it passes to `part`, so they are read and scored once.
    """

    by: str | None = option(
        "--by FILE",
        "Print the result for each class of topics; the file has lines of topic, class. Each class has its own figure.",
        group=SIDE,
    )

    figure_field: ClassVar[str] = "plot"
    """The field with the file of a figure. With `--by`, the figure of each class goes to a file of its own."""

    def check(self) -> None:
        super().check()
        if self.by is None:
            return
        for name in NOT_WITH:
            if getattr(self, name, None):
                raise UsageError(f"--by and --{name} do not go together; leave out one of them")
        if self.format == "trec":
            raise UsageError("--by: the format trec has no place for classes; use another, such as csv")

    def perform(self) -> int | None:
        if self.by is None:
            return self.run()
        from cranfield.scores.topic_classes import TopicClasses

        self._classes = TopicClasses.of(self.by)
        self._figure_file: str | None = getattr(self, self.figure_field, None)
        self._split: list[dict[str, Any]] = []
        """Scores, or judgments and runs, by class, in the order in which the verb asks for them."""
        self._texts: list[str] = []
        parts: list[Part] = []
        failed: list[CranfieldError] = []
        self._place = 0
        while not self._split or self._place < len(self._split[0]):
            self._asked = 0
            self._texts.clear()
            try:
                self.run()
            except CranfieldError as error:
                if not self._split:
                    raise
                name, topics = self._class()
                failed.append(error)
                message = f"class {name!r} ({counted(topics, 'topic')}) is left out: {error}"
                warnings.warn(message, CranfieldWarning, stacklevel=2)
            else:
                parts.append((*self._class(), "\n\n".join(self._texts)))
            self._place += 1
        if not parts:
            raise failed[0]
        if self._figure_file is None or self.figure_field != "output":
            super().emit(joined(parts, self.format, guard_formulas=self.guard_formulas))
        return None

    def _class(self) -> tuple[str, int]:
        """The name and the number of topics of the class in turn."""
        name, part = list(self._split[0].items())[self._place]
        return name, len(part.topics)

    def part(self, make: Callable[[], Split]) -> Split:
        """The class in turn of what is made, which is made and split once; without `--by`, all of it."""
        if self.by is None:
            return make()
        if self._asked == len(self._split):
            self._split.append(make().by_class(self._classes))
        parts = self._split[self._asked]
        self._asked += 1
        name = list(self._split[0])[self._place]
        if self._figure_file is not None:
            setattr(self, self.figure_field, file_of_class(self._figure_file, list(self._split[0]), self._place))
        if name not in parts:
            raise UsageError("the other collection has no topic of this class")
        part: Split = parts[name]
        return part

    def emit(self, text: str) -> None:
        if self.by is None:
            super().emit(text)
        else:
            self._texts.append(text)


class ByClass(Collection, SplitByClass):
    """As `SplitByClass`, for verbs that read a collection or scores in the usual way."""

    def kept(self, make: Callable[[], Scores]) -> Scores:
        return self.part(make)

    def read(self) -> tuple[Qrels, Any]:
        if self.by is None:
            return super().read()

        def make() -> Experiment:
            qrels, runs = self.read_whole()
            return Experiment(qrels, self.read_runs(runs) if isinstance(runs, list) else runs)

        return self.part(make)


def file_of_class(path: str, classes: Sequence[str], place: int) -> str:
    """The file of a class: its name is added to that of the file, and its number if another class looks the same there.

    >>> file_of_class("out/map.svg", ["easy", "not so easy", "not/so easy"], 0)
    'out/map-easy.svg'
    >>> [file_of_class("map.svg", ["easy", "not so easy", "not/so easy"], place) for place in (1, 2)]
    ['map-not-so-easy-2.svg', 'map-not-so-easy-3.svg']
    """
    plain = [re.sub(r"[^\w.]+", "-", name).strip("-.") for name in classes]
    number = f"-{place + 1}" if not plain[place] or plain.count(plain[place]) > 1 else ""
    stem, ending = os.path.splitext(path)
    return f"{stem}-{plain[place]}{number}{ending}"


def joined(parts: list[Part], format: str, noun: str = "class", *, guard_formulas: bool = False) -> str:
    """The results of all classes, or other parts, as one text.

    >>> print(joined([("easy", 2, "run,AP\\nbm25,0.5"), ("hard", 1, "run,AP\\nbm25,0.25")], "csv"))
    class,run,AP
    easy,bm25,0.5
    hard,bm25,0.25
    """
    if format in ("csv", "tsv"):
        from cranfield.table import safe_cell

        safe = [(safe_cell(name, guard_formulas=guard_formulas), number, text) for name, number, text in parts]
        return _delimited(safe, "\t" if format == "tsv" else ",", noun)
    if format == "json":
        return _json(parts, noun)
    titles = [f"{name} ({counted(topics, 'topic')})" for name, topics, _ in parts]
    texts = [text for _, _, text in parts]
    return "\n\n".join(f"{_title(title, format)}{text}" for title, text in zip(titles, texts, strict=True))


def _title(title: str, format: str) -> str:
    from cranfield.table import escape_markdown, printable

    title = printable(title)
    if format == "html":
        from html import escape

        return f"<h3>{escape(title)}</h3>\n"
    forms = {"latex": f"% {title}\n", "markdown": f"**{escape_markdown(title)}**\n\n"}
    return forms.get(format, f"{title}\n")


def _delimited(parts: list[Part], sep: str, noun: str) -> str:
    """Rows with the class in the first column; a result of several tables keeps them apart."""
    import csv
    import io

    tables: list[list[list[str]]] = []
    for name, _, text in parts:
        for place, block in enumerate(text.rstrip("\n").split("\n\n")):
            header, *rows = csv.reader(io.StringIO(block), delimiter=sep)
            if place == len(tables):
                tables.append([[noun, *header]])
            tables[place] += [[name, *row] for row in rows]
    blocks = []
    for table in tables:
        out = io.StringIO()
        csv.writer(out, delimiter=sep, lineterminator="\n").writerows(table)
        blocks.append(out.getvalue().rstrip("\n"))
    return "\n\n".join(blocks)


def _json(parts: list[Part], noun: str) -> str:
    """A list with an object for each class: its name, the number of its topics, and the content of its result."""
    import json

    decoder = json.JSONDecoder()
    out: list[dict[str, Any]] = []
    for name, topics, text in parts:
        results, place = [], 0
        while place < len(text.rstrip()):
            result, place = decoder.raw_decode(text, place)
            results.append(result)
            place += len(text[place:]) - len(text[place:].lstrip())
        single = results[0] if len(results) == 1 else results
        out.append(
            {noun: name, "number_of_topics": topics, **(single if isinstance(single, dict) else {"results": single})}
        )
    return json.dumps(out, ensure_ascii=False, indent=1)
