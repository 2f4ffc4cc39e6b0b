"""Label a pool with a language model: what is asked, what is in the log already, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cranfield.building.machine.asking import (
    LABELLED,
    UNPARSED,
    Asked,
    Asker,
    Entry,
    LabelLog,
    Patience,
    keep_templates,
    read_log,
)
from cranfield.building.machine.endpoint import Endpoint
from cranfield.building.machine.questions import Key, LabelPlan, Question
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike
from cranfield.declared.operation import about, operation, with_defaults
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.record import Record
from cranfield.text import counted, cut, listed, one_line
from cranfield.types import Progress

START = 60
"""Characters of an answer that messages show."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(Record):
    """The state of a log after labelling: a row per assessor, that is, per model and prompt."""

    facts = ("asked", caution_note("interrupted"), "stopped")

    workers: tuple[str, ...]
    items: int
    """The number of items that each assessor is asked about."""
    entries: Mapping[Key, Entry]
    """The answers about these items."""
    failed: tuple[tuple[Key, str], ...]
    """Questions without an answer, and why."""
    asked: int
    """The number of answers that came this time."""
    stopped: str
    """Why labelling stopped early; empty if it did not."""
    interrupted: bool
    notes: tuple[str, ...]

    @property
    def unparsed(self) -> tuple[Entry, ...]:
        """The answers without a grade."""
        return tuple(entry for entry in self.entries.values() if entry.state == UNPARSED)

    @property
    def left(self) -> int:
        """The number of questions without an answer."""
        return self.items * len(self.workers) - len(self.entries)

    def columns(self) -> dict[str, NDArray[Any]]:
        """assessor, items, labelled, unparsed, failed, left, prompt tokens, answer tokens."""
        failed = [key[2] for key, _ in self.failed]
        rows = []
        for worker in self.workers:
            mine = [entry for entry in self.entries.values() if entry.worker == worker]
            labelled = sum(entry.state == LABELLED for entry in mine)
            tokens = [
                sum(entry.usage.get(name, 0) for entry in mine) for name in ("prompt_tokens", "completion_tokens")
            ]
            failures = failed.count(worker)
            left = self.items - len(mine) - failures
            rows.append((self.items, labelled, len(mine) - labelled, failures, left, *tokens))
        names = ("items", "labelled", "unparsed", "failed", "left", "prompt tokens", "answer tokens")
        counts = np.array(rows, dtype=np.int64).reshape(-1, len(names)).T
        return {"assessor": np.array(self.workers, dtype=object), **dict(zip(names, counts, strict=True))}

    def to_dict(self) -> dict[str, Any]:
        """As for all records; also the answers without a grade, and the questions that failed."""
        unparsed = [
            {"topic": e.topic, "doc": e.doc, "assessor": e.worker, "problem": e.problem, "answer": e.answer}
            for e in self.unparsed
        ]
        failed = [
            {"topic": topic, "doc": doc, "assessor": worker, "problem": why}
            for (topic, doc, worker), why in self.failed
        ]
        return {**super().to_dict(), "unparsed": unparsed, "failed": failed}

    def qrels(self, worker: str) -> Qrels:
        """The grades of an assessor as judgments; items without a grade are left out."""
        grades = [
            (entry.topic, entry.doc, float(entry.label))
            for entry in self.entries.values()
            if entry.worker == worker and entry.label is not None
        ]
        if not grades:
            raise UsageError(f"{worker} has given no grade, so there are no judgments to write")
        return Qrels.from_tuples(grades, name=worker)


@operation
def label(
    plan: LabelPlan,
    endpoint: Endpoint,
    log: PathLike,
    *,
    limit: Annotated[int | None, about("Ask at most N questions this time.", least=1)] = None,
    again: Annotated[bool, about("Ask once more where the answer had no grade.")] = False,
    progress: Progress | None = None,
    on_interrupt: Callable[[int], None] = lambda open_questions: None,
    **patience: Unpack[Patience],
) -> Labelling:
    """Ask a language model for the grade of every item of a plan, and keep all answers in a log.

    endpoint: where to ask, by the protocol of OpenAI's chat completions. Nothing is sent anywhere else.
    log: a file of JSON-lines. Answers are appended, each on the disk before it counts; questions whose answers it holds
    are not asked again. A last line that is not complete, as after a kill, is dropped. `Labels` reads the file.

    An answer from which no grade can be read is kept, and counts as `unparsed`: it has no label. A question that fails
    after all attempts is not in the log.
    """
    if endpoint.model != plan.model:
        raise UsageError(f"the plan is for the model {plan.model!r}, the endpoint has {endpoint.model!r}")
    with LabelLog(log) as file:
        notes = list(plan.notes)
        if file.content.torn:
            size = counted(file.content.torn, "byte")
            notes.append(f"the last line of {file.path} was not complete ({size}) and was dropped: it is asked again")
        known = dict(file.content.entries)
        check_same(plan, endpoint, known, file.path)
        keep_templates(log, plan.prompts, plan.scale)
        wanted = [key for key in _keys(plan) if key not in known or (again and known[key].state == UNPARSED)]
        total = len(wanted) if limit is None else min(limit, len(wanted))
        asker = Asker(endpoint, file, plan.scale, with_defaults(Patience, patience), on_interrupt=on_interrupt)
        asked = asker.run(islice(_questions(plan, set(wanted)), total), total, progress) if total else Asked()
    return _result(plan, log, asked, notes)


def check_same(plan: LabelPlan, endpoint: Endpoint, known: Mapping[Key, Entry], path: str) -> None:
    """Raise an error if the log has answers to another prompt, or with other parameters, under the same name."""
    way_out = "name another log, or another name for the prompt"
    for prompt in plan.prompts:
        for topic, doc in plan.items:
            entry = known.get((topic, doc, plan.worker(prompt)))
            if entry is None:
                continue
            if entry.prompt != plan.question(prompt, topic, doc).digest:
                what = "template" if entry.template != prompt.digest else "text of the topic, document or scale"
                raise UsageError(
                    f"{path} has an answer about {topic} {doc} by {entry.worker} to another prompt: the {what} has "
                    f"changed; {way_out}"
                )
            if dict(entry.parameters) != dict(endpoint.parameters):
                raise UsageError(
                    f"{path} has answers of {entry.worker} with the parameters {dict(entry.parameters)}, now they are "
                    f"{dict(endpoint.parameters)}; {way_out}"
                )


def _keys(plan: LabelPlan) -> Iterator[Key]:
    for prompt in plan.prompts:
        for topic, doc in plan.items:
            yield topic, doc, plan.worker(prompt)


def _questions(plan: LabelPlan, wanted: set[Key]) -> Iterator[Question]:
    for prompt in plan.prompts:
        for topic, doc in plan.items:
            if (topic, doc, plan.worker(prompt)) in wanted:
                yield plan.question(prompt, topic, doc)


def _result(plan: LabelPlan, log: PathLike, asked: Asked, notes: list[str]) -> Labelling:
    keys = list(_keys(plan))
    content = read_log(log).entries
    entries = {key: content[key] for key in keys if key in content}
    failed = tuple((question.key, why) for question, why in asked.failed if question.key not in entries)
    workers = tuple(plan.worker(prompt) for prompt in plan.prompts)
    result = Labelling(workers, len(plan.items), entries, failed, asked.answered, asked.stopped, asked.interrupted, ())
    if unparsed := result.unparsed:
        starts = [f"{e.topic} {e.doc} ({e.problem}): {cut(one_line(e.answer), START)!r}" for e in unparsed]
        notes.append(
            caution_note(f"{counted(len(unparsed), 'answer')} without a grade: {listed(starts, 10, 'answers')}")
        )
    if failed:
        places = [f"{topic} {doc} ({why})" for (topic, doc, _), why in failed]
        notes.append(caution_note(f"{counted(len(failed), 'question')} failed: {listed(places, 5, 'questions')}"))
    if asked.stopped:
        notes.append(caution_note(f"stopped: {asked.stopped}"))
    if asked.interrupted:
        notes.append(caution_note("interrupted"))
    if result.left:
        again = f"the same command goes on, as {os.fspath(log)} holds the answers so far"
        notes.append(caution_note(f"{counted(result.left, 'question')} without an answer; {again}"))
    return replace(result, notes=tuple(notes))
