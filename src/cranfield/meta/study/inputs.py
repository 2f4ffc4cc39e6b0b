"""What the steps of a study work on: files are summed once, read once, and scored once for each measure."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.assessed.joined_runs import distinct_names
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import expand
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import Evaluator
from cranfield.meta.study.cache import Cache, file_sum, key_of, measure_key, scores_from_bytes, scores_to_bytes
from cranfield.meta.study.study_file import Collection, Study, Task
from cranfield.scores.scores import Scores
from cranfield.types import Progress

TOLD = 5
"""So many different warnings are passed on; the rest is counted."""


class Inputs:
    """The files of a study. Scores and runs are held for one collection at a time."""

    def __init__(self, study: Study, cache: Cache) -> None:
        self.study = study
        self.cache = cache
        self._sums: dict[str, str] = {}
        self._held: dict[str, Any] = {}
        self._of = ""

    def _sum(self, path: str) -> str:
        if path not in self._sums:
            self._sums[path] = file_sum(path)
        return self._sums[path]

    # -- what a result depends on

    def facts(self, task: Task, collection: Collection | None) -> dict[str, Any]:
        """The content of everything that a step looks at, besides its options."""
        wanted = self.study.measures_of(task, collection)
        if collection is not None and collection.scores:
            files = [[os.path.basename(path), self._sum(path)] for path in expand(collection.scores)]
            return {"measures": list(wanted), "scores": files, "missing": collection.missing}
        keys = [measure_key(name) for name in (*wanted, *self.study.further_measures(task))]
        if collection is None:
            return {"measures": keys}
        teams = self._sum(collection.teams) if collection.teams and task.method.accepts("teams") else None
        runs = [self._run_facts(path) for path in expand(collection.runs)]
        return {"measures": keys, "runs": runs, "teams": teams, **self._settings(collection)}

    def content(self, task: Task, name: str, value: Any) -> Any:
        """An option; of one that names a file what the file holds."""
        return self._sum(value) if name in task.method.files else value

    def _run_facts(self, path: str) -> list[str]:
        return [os.path.basename(path), self._sum(path)]  # a run without a tag is called by its file

    def _settings(self, collection: Collection) -> dict[str, Any]:
        """How runs meet judgments; side files by what they hold."""
        assert collection.qrels is not None
        join = dict(collection.join)
        for name in ("intent_probabilities", "intent_types", "lengths", "inclusion"):
            if name in join:
                join[name] = self._sum(join[name])
        if "dimensions" in join:
            join["dimensions"] = {name: self._sum(path) for name, path in join["dimensions"].items()}
        return {"qrels": self._sum(collection.qrels), "join": join, "missing": collection.missing}

    # -- what a step works on

    def _about(self, collection: Collection) -> dict[str, Any]:
        if self._of != collection.name:
            self._of, self._held = collection.name, {}
        return self._held

    def read(self, collection: Collection) -> tuple[Qrels, dict[str, Run]]:
        """Judgments and runs, for methods that look at documents."""
        held = self._about(collection)
        if "runs" not in held:
            held["runs"] = self._qrels(collection), self._runs(collection)
        found: tuple[Qrels, dict[str, Run]] = held["runs"]
        return found

    def _qrels(self, collection: Collection) -> Qrels:
        held = self._about(collection)
        if "qrels" not in held:
            held["qrels"] = Qrels.of(collection.qrels, on_duplicate=collection.options.on_duplicate)
        found: Qrels = held["qrels"]
        return found

    def _runs(self, collection: Collection) -> dict[str, Run]:
        how = collection.options
        found = [
            run
            for path in expand(collection.runs)
            for run in runs_of(path, format=how.format, on_duplicate=how.on_duplicate)
        ]
        names = distinct_names([run.name for run in found], [run.path for run in found])
        return dict(zip(names, found, strict=True))

    def scores(self, collection: Collection, progress: Progress) -> Scores:
        """Everything that is measured on this collection, in any method; what is in the cache is not scored again."""
        held = self._about(collection)
        if "scores" not in held:
            if collection.scores:
                held["scores"] = Scores.read(expand(collection.scores), missing="skip")
            else:
                with _few_warnings():
                    held["scores"] = self._scored(collection, progress)
        found: Scores = held["scores"]
        return found

    def _scored(self, collection: Collection, progress: Progress) -> Scores:
        """File by file, so that a study that is stopped keeps what is done."""
        wanted = self._measures(collection)
        keys = {name: measure_key(name) for name in wanted}
        paths = expand(collection.runs)
        evaluators: dict[tuple[str, ...], Evaluator] = {}
        parts: list[Scores] = []
        for number, path in enumerate(paths):
            entry = key_of(scores=self._run_facts(path), **self._settings(collection))
            held = self.cache.get(entry)
            known = scores_from_bytes(held) if held is not None else None
            lacking = tuple(name for name in wanted if known is None or keys[name] not in known.measures)
            if lacking:
                if lacking not in evaluators:
                    evaluators[lacking] = Evaluator(
                        self._qrels(collection), list(lacking), missing=collection.missing, options=collection.options
                    )
                found = evaluators[lacking].evaluate([path])
                found = replace(found, measures=tuple(keys[name] for name in lacking))
                known = found if known is None else _beside(known, found)
                self.cache.put(entry, scores_to_bytes(known))
            assert known is not None
            parts.append(replace(known.select(measures=[keys[name] for name in wanted]), measures=tuple(wanted)))
            progress(number + 1, len(paths))
        return _stacked(parts, paths)

    def _measures(self, collection: Collection) -> list[str]:
        """All that any method measures here."""
        tasks = [task for task in self.study.tasks if collection.name in task.collections]
        names = (
            name
            for task in tasks
            for name in (*self.study.measures_of(task, collection), *self.study.further_measures(task))
        )
        return list(dict.fromkeys(names))


def _beside(known: Scores, found: Scores) -> Scores:
    """Further measures of the same runs on the same topics."""
    return replace(
        known,
        measures=(*known.measures, *found.measures),
        values=np.concatenate([known.values, found.values]),
        notes=tuple(dict.fromkeys((*known.notes, *found.notes))),
    )


def _stacked(parts: list[Scores], paths: list[str]) -> Scores:
    """The runs of all files, called as `evaluate` calls them; the judgments are the same, and so are the topics."""
    names = [run for part in parts for run in part.runs]
    origins = [path for part, path in zip(parts, paths, strict=True) for _ in part.runs]
    if any(part.topics != parts[0].topics for part in parts):
        raise UsageError("the cache holds scores of other topics; remove its folder")
    return Scores(
        parts[0].measures,
        distinct_names(names, origins),
        parts[0].topics,
        np.concatenate([part.values for part in parts], axis=1),
        np.concatenate([part.missing for part in parts]),
        parts[0].missing_rule,
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


@contextmanager
def _few_warnings() -> Iterator[None]:
    """Each warning once, and not one for each of a hundred runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CranfieldWarning)
        yield
    texts = list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, CranfieldWarning)))
    for text in texts[:TOLD]:
        warnings.warn(text, CranfieldWarning, stacklevel=4)
    if len(texts) > TOLD:
        warnings.warn(f"{len(texts) - TOLD} more warnings like these about other runs", CranfieldWarning, stacklevel=4)
