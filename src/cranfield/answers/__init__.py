"""Summaries and answers: texts that systems write, scored by references, nuggets, citations and spans.

Every function returns scores by run and topic, or a record that holds them.
"""

from cranfield.answers.answer_texts import read_answers, read_references, texts_of_runs
from cranfield.answers.bleu_scores import Bleu, bleu
from cranfield.answers.cited_answers import Sentence, citation_scores, explain_citations, read_cited_answers
from cranfield.answers.nugget_files import Assignments, Nugget, read_assignments, read_nuggets
from cranfield.answers.nugget_scores import explain_nuggets, nugget_scores, pyramid_scores
from cranfield.answers.one_click import IUnit, explain_one_click, one_click_scores, read_ends, read_iunits
from cranfield.answers.passages import passage_scores, read_passage_runs, read_relevant_passages
from cranfield.answers.pourpre_scores import explain_pourpre, pourpre
from cranfield.answers.rouge_matches import explain_rouge
from cranfield.answers.rouge_scores import Rouge, rouge
from cranfield.answers.tokenisation import WordRules
from cranfield.answers.verticals import Block, page_scores, read_orientation, read_pages

__all__ = [
    "Assignments", "Bleu", "Block", "IUnit", "Nugget", "Rouge", "Sentence", "WordRules", "bleu", "citation_scores",
    "explain_citations", "explain_nuggets", "explain_one_click", "explain_pourpre", "explain_rouge", "nugget_scores",
    "one_click_scores", "page_scores", "passage_scores", "pourpre", "pyramid_scores", "read_answers",
    "read_assignments", "read_cited_answers", "read_ends", "read_iunits", "read_nuggets", "read_orientation",
    "read_pages", "read_passage_runs", "read_references", "read_relevant_passages", "rouge", "texts_of_runs",
]  # fmt: skip
