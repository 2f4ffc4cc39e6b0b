"""`cranfield machine label`: ask a language model for the relevance of documents."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from cranfield._start import INTERRUPTED
from cranfield.cli import interrupts
from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.options import Sized
from cranfield.cli.printing import Note, Printing
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.building.machine.questions import LabelPlan


class LabelVerb(Sized, Printing, of="building.machine.labelling:label"):
    """Ask a language model how relevant the documents of a pool are, and keep every answer.

    The model is behind an endpoint with the protocol of OpenAI's chat completions, which many servers have. Nothing is
    sent anywhere unless --endpoint names it. The key is read from the environment variable that --key-variable names;
    it is neither printed nor written.

    --output names a file, the log, to which every answer is appended as a line of JSON, with the digest of its prompt,
    the model, the parameters, the time and the tokens; the templates are in a file beside it. After an interruption or
    a kill, the same command goes on where it stopped. cranfield machine audit reads the log.

    An answer from which no grade can be read counts as unparsed; it is never taken for a grade. The exit code is 1 if
    there are such answers, or if questions failed.
    """

    output_is_result = False
    summary = "ask a language model for the relevance of documents"
    examples = """
cranfield machine label topics.xml pool.tsv docs.jsonl --endpoint http://localhost:8000/v1 --model NAME -o labels.jsonl
cranfield machine label topics.xml pool.tsv docs.jsonl --dry-run  # shows the first prompt, and sends nothing
cranfield machine label topics.xml pool.tsv docs/ --endpoint URL --model M -o labels.jsonl --write-qrels machine.qrels
cranfield machine label topics.xml qrels.txt docs.jsonl --endpoint URL --model M -o labels.jsonl --prompt a.txt
"""

    topics: str = argument("TOPICS", "The topics, with title, description and narrative.", required=True, reads=True)
    pool: str = argument(
        "POOL",
        "What to judge: a table with a header that names topic and doc, or judgments, or a run.",
        required=True,
        reads=True,
    )
    docs: str = argument(
        "DOCS",
        "The texts of documents: lines of JSON (doc_id, text), lines of id, tab, text, or a folder of files.",
        required=True,
        reads=True,
    )
    endpoint: str | None = option("--endpoint URL", "Where to ask, such as https://host/v1; there is no default.")
    model: str | None = option("--model NAME", "The model to ask for.")
    output: str | None = option(
        "--output, -o FILE",
        "The log of answers (JSON-lines); if it exists, labelling goes on.",
        writes=True,
        endings=(),
    )
    qrels: str | None = option(
        "--write-qrels FILE",
        "Also write the grades as judgments; with several prompts, a file for each, such as FILE-PROMPT.qrels.",
        writes=True,
    )
    prompts: list[str] | None = option(
        "--prompt FILE",
        "A prompt with {query}, {description}, {narrative}, {document} and {scale} in it; default: a short one. May be "
        "repeated.",
        reads=True,
    )
    scale: str | None = option(
        "--scale SCALE", "The grades, such as 0,1,2, or a file with lines of grade and meaning; default: 0 to 3."
    )
    dry_run: bool = flag("--dry-run", "Show the first prompt and the number of characters; send nothing.")
    most_characters: int | None = option(
        "--characters N", "Cut documents to their first N characters; default: 8000.", group=MORE
    )
    key_variable: str | None = option(
        "--key-variable NAME",
        "The environment variable that holds the key of the endpoint; default: no key.",
        group=MORE,
    )
    temperature: float = option("--temperature T", "The temperature of the model.", default=0.0, group=MORE)
    max_tokens: int = option("--max-tokens N", "The longest answer, in tokens.", default=512, group=MORE)
    parameters: str | None = option(
        "--parameters JSON", "Further fields of the request, such as '{\"seed\": 1}'.", group=MORE
    )
    timeout: float = option("--timeout S", "Seconds to wait for an answer.", default=120.0, group=MORE)

    def check(self) -> None:
        super().check()
        self.log, self.output = self.output, None  # the table goes to standard output
        if self.dry_run:
            return
        if self.endpoint is None:
            raise UsageError(
                "no endpoint is configured, so nothing is sent; name one with --endpoint URL, or see what would be "
                "sent with --dry-run"
            )
        if self.model is None:
            raise UsageError("no model; name a model of the endpoint: --model NAME")
        if self.log is None:
            raise UsageError("no file for the answers; name one: --output FILE")

    def run(self) -> int:
        plan = self.plan()
        if self.dry_run:
            self.show_dry_run(plan)
            return 0
        from cranfield.building.machine.endpoint import Endpoint
        from cranfield.building.machine.labelling import label

        endpoint = Endpoint(
            self.endpoint or "", self.model or "", self.request_parameters(), self.key(), timeout=self.timeout
        )

        def interrupted(open_questions: int) -> None:
            if not self.quiet:
                print(f"stopping; waiting for {open_questions} answers. Ctrl-C again drops them", file=sys.stderr)

        with self.progress("asking") as progress:
            result = label(
                plan, endpoint, self.log or "", progress=progress, on_interrupt=interrupted, **self.settings()
            )
        interrupts.expected()  # the log has all answers, and the result says that there are questions left
        self.show_record(result)
        if self.qrels is not None:
            for prompt in plan.prompts:
                root, suffix = os.path.splitext(self.qrels)
                path = self.qrels if len(plan.prompts) == 1 else f"{root}-{prompt.name}{suffix}"
                qrels = result.qrels(plan.worker(prompt))
                qrels.write(path)
                if len(qrels) < result.items:
                    without = f"{result.items - len(qrels):,} of {result.items:,} items have no grade and are left out"
                    warnings.warn(f"{path}: {without}", Note, stacklevel=2)
        if result.interrupted:
            return INTERRUPTED
        return 1 if result.unparsed or result.failed or result.stopped else 0

    def plan(self) -> LabelPlan:
        from cranfield.building.document_texts import read_texts
        from cranfield.building.machine.questions import (
            MOST_CHARACTERS,
            LabelPlan,
            read_items,
            read_prompts,
            read_scale,
        )
        from cranfield.collection.topics import Topics

        prompts, scale = read_prompts(self.prompts or []), read_scale(self.scale)
        topics, items = Topics.read(self.topics), read_items(self.pool)
        texts = read_texts(self.docs, dict.fromkeys(doc for _, doc in items))
        most = MOST_CHARACTERS if self.most_characters is None else self.most_characters
        return LabelPlan.of(topics, items, texts, prompts, scale, self.model or "model", most)

    def show_dry_run(self, plan: LabelPlan) -> None:
        first = next(plan.questions())
        facts = {
            "questions": len(plan),
            "items": len(plan.items),
            "prompts": [prompt.name for prompt in plan.prompts],
            "characters": plan.characters(),
            "notes": list(plan.notes),
            "first prompt": first.text,
        }
        if self.format == "json":
            self.emit_json(facts)
            return
        for note in plan.notes:
            warnings.warn(note, Note, stacklevel=2)
        counts = f"{len(plan):,} questions about {len(plan.items):,} items, {facts['characters']:,} characters in all"
        self.emit(f"{first.text.rstrip()}\n\n{counts}; nothing was sent")

    def request_parameters(self) -> dict[str, Any]:
        further: Any = {}
        if self.parameters is not None:
            try:
                further = json.loads(self.parameters)
            except ValueError as error:
                raise UsageError(f"--parameters {self.parameters}: not valid JSON: {error}") from None
            if not isinstance(further, dict):
                raise UsageError(f"--parameters {self.parameters}: expected an object, such as '{{\"seed\": 1}}'")
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, **further}

    def key(self) -> str | None:
        if self.key_variable is None:
            return None
        key = os.environ.get(self.key_variable)
        if not key:
            raise UsageError(f"--key-variable {self.key_variable}: this environment variable is not set")
        return key
