"""Summaries and answers: texts that systems write, scored by references, nuggets, citations and spans.

The functions have the names of the verbs of `cranfield answers`. They return scores by run and topic, or a record that
holds them.
"""

from typing import TYPE_CHECKING

from cranfield._lazy import names_of

if TYPE_CHECKING:
    from cranfield.answers.answer_texts import read_answers as read_answers
    from cranfield.answers.answer_texts import read_references as read_references
    from cranfield.answers.answer_texts import texts_of_runs as texts_of_runs
    from cranfield.answers.bleu_scores import Bleu as Bleu
    from cranfield.answers.bleu_scores import bleu as bleu
    from cranfield.answers.cited_answers import Sentence as Sentence
    from cranfield.answers.cited_answers import citation_scores as citations
    from cranfield.answers.cited_answers import explain_citations as explain_citations
    from cranfield.answers.cited_answers import read_cited_answers as read_cited_answers
    from cranfield.answers.document_preferences import document_preferences as preferences
    from cranfield.answers.item_labels import label_scores as labels
    from cranfield.answers.item_labels import read_gold_labels as read_gold_labels
    from cranfield.answers.item_labels import read_item_labels as read_item_labels
    from cranfield.answers.nugget_files import Assignments as Assignments
    from cranfield.answers.nugget_files import Nugget as Nugget
    from cranfield.answers.nugget_files import read_assignments as read_assignments
    from cranfield.answers.nugget_files import read_nuggets as read_nuggets
    from cranfield.answers.nugget_scores import explain_nuggets as explain_nuggets
    from cranfield.answers.nugget_scores import nugget_scores as nuggets
    from cranfield.answers.nugget_scores import pyramid_scores as pyramid_scores
    from cranfield.answers.one_click import IUnit as IUnit
    from cranfield.answers.one_click import explain_one_click as explain_one_click
    from cranfield.answers.one_click import one_click_scores as one_click
    from cranfield.answers.one_click import read_ends as read_ends
    from cranfield.answers.one_click import read_iunits as read_iunits
    from cranfield.answers.passages import passage_scores as passages
    from cranfield.answers.passages import read_passage_runs as read_passage_runs
    from cranfield.answers.passages import read_relevant_passages as read_relevant_passages
    from cranfield.answers.pourpre_scores import explain_pourpre as explain_pourpre
    from cranfield.answers.pourpre_scores import pourpre as pourpre
    from cranfield.answers.rouge_matches import explain_rouge as explain_rouge
    from cranfield.answers.rouge_scores import Rouge as Rouge
    from cranfield.answers.rouge_scores import rouge as rouge
    from cranfield.answers.sessions.session_scores import session_scores as sessions
    from cranfield.answers.tokenisation import WordRules as WordRules
    from cranfield.answers.trailtexts import explain_trailtext as explain_trailtext
    from cranfield.answers.trailtexts import read_trailtexts as read_trailtexts
    from cranfield.answers.trailtexts import trailtext_scores as trailtext
    from cranfield.answers.verticals import Block as Block
    from cranfield.answers.verticals import page_scores as verticals
    from cranfield.answers.verticals import read_orientation as read_orientation
    from cranfield.answers.verticals import read_pages as read_pages

__all__ = [
    "Assignments", "Bleu", "Block", "IUnit", "Nugget", "Rouge", "Sentence", "WordRules", "bleu", "citations",
    "explain_citations", "explain_nuggets", "explain_one_click", "explain_pourpre", "explain_rouge",
    "explain_trailtext", "labels", "nuggets", "one_click", "passages", "pourpre", "preferences", "pyramid_scores",
    "read_answers", "read_assignments", "read_cited_answers", "read_ends", "read_gold_labels", "read_item_labels",
    "read_iunits", "read_nuggets", "read_orientation", "read_pages", "read_passage_runs", "read_references",
    "read_relevant_passages", "read_trailtexts", "rouge", "sessions", "texts_of_runs", "trailtext", "verticals",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "nuggets": "answers.nugget_scores:nugget_scores",
            "citations": "answers.cited_answers:citation_scores",
            "rouge": "answers.rouge_scores:rouge",
            "bleu": "answers.bleu_scores:bleu",
            "one_click": "answers.one_click:one_click_scores",
            "passages": "answers.passages:passage_scores",
            "verticals": "answers.verticals:page_scores",
            "explain_trailtext": "answers.trailtexts:explain_trailtext",
            "labels": "answers.item_labels:label_scores",
            "preferences": "answers.document_preferences:document_preferences",
            "read_trailtexts": "answers.trailtexts:read_trailtexts",
            "trailtext": "answers.trailtexts:trailtext_scores",
            "read_gold_labels": "answers.item_labels:read_gold_labels",
            "read_item_labels": "answers.item_labels:read_item_labels",
            "sessions": "answers.sessions.session_scores:session_scores",
            "Assignments": "answers.nugget_files:Assignments",
            "Bleu": "answers.bleu_scores:Bleu",
            "Block": "answers.verticals:Block",
            "IUnit": "answers.one_click:IUnit",
            "Nugget": "answers.nugget_files:Nugget",
            "Rouge": "answers.rouge_scores:Rouge",
            "Sentence": "answers.cited_answers:Sentence",
            "WordRules": "answers.tokenisation:WordRules",
            "explain_citations": "answers.cited_answers:explain_citations",
            "explain_nuggets": "answers.nugget_scores:explain_nuggets",
            "explain_one_click": "answers.one_click:explain_one_click",
            "explain_pourpre": "answers.pourpre_scores:explain_pourpre",
            "explain_rouge": "answers.rouge_matches:explain_rouge",
            "pourpre": "answers.pourpre_scores:pourpre",
            "pyramid_scores": "answers.nugget_scores:pyramid_scores",
            "read_answers": "answers.answer_texts:read_answers",
            "read_assignments": "answers.nugget_files:read_assignments",
            "read_cited_answers": "answers.cited_answers:read_cited_answers",
            "read_ends": "answers.one_click:read_ends",
            "read_iunits": "answers.one_click:read_iunits",
            "read_nuggets": "answers.nugget_files:read_nuggets",
            "read_orientation": "answers.verticals:read_orientation",
            "read_pages": "answers.verticals:read_pages",
            "read_passage_runs": "answers.passages:read_passage_runs",
            "read_references": "answers.answer_texts:read_references",
            "read_relevant_passages": "answers.passages:read_relevant_passages",
            "texts_of_runs": "answers.answer_texts:texts_of_runs",
        },
    )
