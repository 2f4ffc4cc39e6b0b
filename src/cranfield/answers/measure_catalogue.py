"""The measures of texts that systems write, each with its formula and paper; for lists and pages of measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AnswerMeasure:
    """A measure of summaries, answers, passages or pages of blocks."""

    name: str
    what: str
    formula: str
    """LaTeX."""
    text: str
    verb: str
    """The verb of the command line that computes it."""
    reference: str
    high: float = 1.0
    better: str = "higher"


_BENNETT = "Carterette & Bennett, SIGIR 2008, doi:10.1145/1390334.1390451"
_AMIGO = "Amigó, Gonzalo, Artiles & Verdejo, Information Retrieval 12, 2009, doi:10.1007/s10791-008-9066-8"
_MANNING = "Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, §13.6"
_CEM = "Amigó, Gonzalo, Mizzaro & Carrillo-de-Albornoz, ACL 2020, doi:10.18653/v1/2020.acl-main.363"
_INFINITE = float("inf")
_LIN = "Lin, ROUGE: A Package for Automatic Evaluation of Summaries, ACL Workshop 2004, 74-81"
_PRADEEP = "Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, arXiv:2411.09607"
_DANG = "Dang & Lin, Different Structures for Evaluating Answers to Complex Questions, ACL 2007, 768-775"
_PYRAMID = "Nenkova & Passonneau, Evaluating Content Selection in Summarization, HLT-NAACL 2004, 145-152"
_THAKUR = "Thakur et al., Support Evaluation for the TREC 2024 RAG Track, SIGIR 2025, arXiv:2504.15205"
_SAKAI = "Sakai, Kato & Song, Click the Search Button and Be Happy, CIKM 2011, doi:10.1145/2063576.2063668"
_KATO = "Sakai & Kato, One Click One Revisited, AIRS 2012"
_KAMPS = "Kamps et al., INEX 2007 Evaluation Measures, INEX 2007, 24-33"
_ZHOU = "Zhou et al., Evaluating Aggregated Search Pages, SIGIR 2012, 115-124 (the idea; the formula is ours)"

_VALUES = "Each has recall (-R), precision (-P) and F (-F), whose weight is --beta."
_OVERLAP = r"\frac{\sum_e \min(c_s(e), c_r(e))}{\sum_e c_r(e)}"


def _rouge(name: str, what: str, text: str, formula: str = _OVERLAP) -> AnswerMeasure:
    return AnswerMeasure(name, what, formula, f"{text} {_VALUES}", "rouge", _LIN)


def _mean(name: str, nuggets: str, weight: str, how: str = "") -> tuple[AnswerMeasure, ...]:
    formula = rf"\frac{{\sum_v {weight}s(v)}}{{\sum_v {weight or '1'}}}"
    full = "s(v) is 1 for full support, 1/2 for partial support and 0 for none."
    return (
        AnswerMeasure(name, f"Mean support of {nuggets} in an answer{how}.", formula, full, "nuggets", _PRADEEP),
        AnswerMeasure(
            f"{name}-strict", f"Share of {nuggets} with full support in an answer{how}.", formula,
            "s(v) is 1 for full support, and 0 for partial support and for none.", "nuggets", _PRADEEP,
        ),
    )  # fmt: skip


def _citations(name: str, what: str, formula: str, better: str = "higher") -> AnswerMeasure:
    text = "The support s(c) of a citation c is 1, 1/2 or 0; with -strict, partial support is 0."
    return AnswerMeasure(name, what, formula, text, "citations", _THAKUR, better=better)


def _averaged(name: str, how: str, text: str, formulas: tuple[str, str]) -> tuple[AnswerMeasure, ...]:
    f = r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}"
    kinds = zip("PRF", ("precision", "recall", "F"), (*formulas, f), strict=True)
    return tuple(
        AnswerMeasure(f"{name}-{letter}", f"{how}, {kind} of labels.", formula, text, "labels", _MANNING)
        for letter, kind, formula in kinds
    )


_PRECISION = r"\frac{1}{|C|} \sum_{c \in C} s(c)"
_RECALL = r"\frac{1}{|S|} \sum_{i \in S} \max_{c \in C_i} s(c)"
_S = r"\frac{\sum_{v \in V} w(v) \max(0, L - pos(v))}{\sum_{v \in V^*} w(v) \max(0, L - pos^*(v))}"
_S_TEXT = (
    "pos(v) is where the iUnit v ends in the output, and pos*(v) where it ends in the pseudo minimal output, in "
    "characters; L is the patience of the reader."
)
_T = r"\frac{\sum_{v \in V} |vs(v)|}{l}"
_T_TEXT = "|vs(v)| is the length of the vital string of the iUnit v, and l that of the output."

CATALOGUE: tuple[AnswerMeasure, ...] = (
    _rouge("ROUGE-N", "The n-grams that a text shares with references, such as ROUGE-1 and ROUGE-2.",
           "c_s(e) and c_r(e) count the n-gram e in the text and in the reference."),
    _rouge("ROUGE-L", "The longest common subsequence of words of a text and a reference.",
           "LCS is the number of words of the longest common subsequence, and m the length of the reference.",
           r"\frac{LCS(s, r)}{m}"),
    _rouge("ROUGE-Lsum", "The words of a reference that are in a common subsequence with a sentence of the text.",
           "The union is over the sentences of the text, for each sentence of the reference. ROUGE-1.5.5 calls it "
           "ROUGE-L.", r"\frac{1}{m} \sum_i |LCS_{\cup}(r_i, s)|"),
    _rouge("ROUGE-W", "The longest common subsequence, in which consecutive words count more, as in ROUGE-W-1.2.",
           "WLCS gives a run of k consecutive words k^w, where w is the number in the name.",
           r"\left(\frac{WLCS(s, r)}{m^w}\right)^{1/w}"),
    _rouge("ROUGE-S", "Pairs of words in their order, with others between them: ROUGE-S4 at most four, ROUGE-S* any.",
           "c_s(e) and c_r(e) count the pair e in the text and in the reference."),
    _rouge("ROUGE-SU", "Pairs of words in their order, and single words: ROUGE-SU4, ROUGE-SU*.",
           "c_s(e) and c_r(e) count the pair or the word e in the text and in the reference."),
    AnswerMeasure(
        "BLEU", "The n-grams of texts that references have, with a penalty for short texts.",
        r"\min\left(1, e^{1 - r/l}\right) \left(\prod_{n=1}^{N} p_n\right)^{1/N}",
        "p_n is the share of n-grams of the text that a reference has, l the length of the text and r that of the "
        "closest reference.", "bleu",
        "Papineni et al., BLEU: a Method for Automatic Evaluation of Machine Translation, ACL 2002, 311-318",
    ),
    *_mean("all", "all nuggets", ""),
    *_mean("vital", "vital nuggets", ""),
    *_mean("weighted", "nuggets", "w(v)", ", where okay ones count half"),
    AnswerMeasure(
        "W-Rec", "Weighted nugget recall: the weight of the nuggets that an answer has.",
        r"\frac{\sum_{v \in V} w(v)}{\sum_{v \in V^*} w(v)}",
        "V are the nuggets of the answer, V* all nuggets of the topic; weights are votes, or given, or 1 for vital "
        "nuggets.", "nuggets", _DANG,
    ),
    AnswerMeasure(
        "Prec", "Nugget precision with an allowance: characters beyond 100 for each nugget found are noise.",
        r"1 - \frac{\max(0, l - 100 |V|)}{l}",
        "l is the length of the answer in characters without white space. --allowance changes 100.", "nuggets", _DANG,
    ),
    AnswerMeasure(
        "F", "F of weighted nugget recall and allowance precision, for answers to questions.",
        r"\frac{(1 + \beta^2) \text{Prec} \cdot \text{W-Rec}}{\beta^2 \text{Prec} + \text{W-Rec}}",
        "β is 3 unless --beta is given.", "nuggets", _DANG,
    ),
    AnswerMeasure(
        "pyramid", "Pyramid score: the weight of a summary's content units, relative to the best for their number.",
        r"\frac{\sum_{v \in V} w(v)}{\max_{|U| = X} \sum_{v \in U} w(v)}",
        "w(v) is the number of model summaries with the unit v, and X the number of units of the summary.", "nuggets",
        _PYRAMID,
    ),
    AnswerMeasure(
        "pyramid-modified", "Pyramid score relative to the best for as many content units as a model summary has.",
        r"\frac{\sum_{v \in V} w(v)}{\max_{|U| = X} \sum_{v \in U} w(v)}",
        "w(v) is the number of model summaries with the unit v, and X the mean number of units of these.", "nuggets",
        _PYRAMID, _INFINITE,
    ),
    AnswerMeasure(
        "POURPRE", "F of answers whose nuggets are found by common words, without assessors.",
        r"m(v) = \max_s \frac{\sum_{e \in v} \min(c_v(e), c_s(e))}{\sum_{e \in v} c_v(e)}",
        "Recall is the weighted mean of the matches m(v); precision has an allowance for every nugget with a match.",
        "nuggets", "Lin & Demner-Fushman, Automatically Evaluating Answers to Definition Questions, HLT/EMNLP 2005, "
        "931-938",
    ),
    _citations("citation-precision", "The mean support of the citations of an answer.", _PRECISION),
    _citations("citation-recall", "The mean support of sentences by their best citation.", _RECALL),
    _citations("citation-F", "F of citation precision and recall.",
               r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}"),
    _citations("citation-precision-strict", "The share of citations with full support.", _PRECISION),
    _citations("citation-recall-strict", "The share of sentences with full support by a citation.", _RECALL),
    _citations("supported", "Among sentences with citations, the share with full support.",
               r"\frac{|\{i : \max_{c \in C_i} s(c) = 1\}|}{|\{i : C_i \ne \emptyset\}|}"),
    _citations("uncited", "The share of sentences without citations.",
               r"\frac{|\{i : C_i = \emptyset\}|}{|S|}", better="lower"),
    AnswerMeasure("S", "S-measure of one click access: weighted recall of iUnits that count less the later they end.",
                  _S, _S_TEXT, "one-click", _SAKAI, _INFINITE),
    AnswerMeasure("T", "T-measure of one click access: the length of vital strings relative to that of the output.",
                  _T, _T_TEXT, "one-click", _KATO, _INFINITE),
    AnswerMeasure("S-flat", "S-measure of one click access, at most 1; also written S♭.", rf"\min\left(1, {_S}\right)",
                  _S_TEXT, "one-click", _KATO),
    AnswerMeasure("T-flat", "T-measure of one click access, at most 1; also written T♭.", rf"\min\left(1, {_T}\right)",
                  _T_TEXT, "one-click", _KATO),
    AnswerMeasure("S#", "F of S-flat and T-flat, for one click access; also written S♯.",
                  r"\frac{(1 + \beta^2) T♭ S♭}{\beta^2 T♭ + S♭}", "β is 1 unless --beta is given.",
                  "one-click", _KATO),
    AnswerMeasure("char-P", "The share of the characters shown by ranked passages that are relevant.",
                  r"\frac{|\text{shown} \cap \text{relevant}|}{|\text{shown}|}",
                  "Characters that a list shows again count once.", "passages", _KAMPS),
    AnswerMeasure("char-R", "The share of the relevant characters that ranked passages show.",
                  r"\frac{|\text{shown} \cap \text{relevant}|}{|\text{relevant}|}",
                  "Characters that a list shows again count once.", "passages", _KAMPS),
    AnswerMeasure("char-F", "F of char-P and char-R.", r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}",
                  "β is 1 unless --beta is given.", "passages", _KAMPS),
    AnswerMeasure("char-bpref", "bpref of ranked passages, in which every character is a document.",
                  r"\frac{1}{R} \sum_{c} \left(1 - \frac{\min(R, n(c))}{R}\right)",
                  "n(c) counts judged non-relevant characters before c; unjudged documents are skipped.", "passages",
                  "Allan, HARD Track Overview in TREC 2004"),
    AnswerMeasure("page-DCG", "DCG of the blocks of a page of aggregated search.",
                  r"\sum_b \frac{o(v_b) \, \bar g_b}{\log_2(b + 1)}",
                  "o is the orientation of the block's vertical, and the mean relevance of its documents is relative "
                  "to the highest grade.", "verticals", _ZHOU, _INFINITE),
    AnswerMeasure("page-nDCG", "page-DCG divided by that of the best blocks of all runs.",
                  r"\frac{\text{page-DCG}}{\text{page-DCG of the best page}}",
                  "The best page shows the best block of each vertical, best first.", "verticals", _ZHOU, _INFINITE),
    AnswerMeasure("vertical-P", "The share of the verticals on a page that users want.",
                  r"\frac{|\text{shown} \cap \text{wanted}|}{|\text{shown}|}",
                  "A vertical is wanted if its orientation is --wanted or more.", "verticals", _ZHOU),
    AnswerMeasure("vertical-R", "The share of the wanted verticals that a page shows.",
                  r"\frac{|\text{shown} \cap \text{wanted}|}{|\text{wanted}|}",
                  "A vertical is wanted if its orientation is --wanted or more.", "verticals", _ZHOU),
    AnswerMeasure("vertical-F", "F of vertical-P and vertical-R.", r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}",
                  "β is 1 unless --beta is given.", "verticals", _ZHOU),
    AnswerMeasure("accuracy", "The share of items with the right label.", r"\frac{1}{N} \sum_d [s_d = g_d]",
                  "s is the label of the system and g the gold label.", "labels", _MANNING),
    *_averaged("micro", "Over all items", "t items have the right label, s have a label and g have a gold label.",
               (r"\frac{\sum_c t_c}{\sum_c s_c}", r"\frac{\sum_c t_c}{\sum_c g_c}")),
    *_averaged("macro", "As the mean of classes", "C holds the classes of the gold labels.",
               (r"\frac{1}{|C|} \sum_c \frac{t_c}{s_c}", r"\frac{1}{|C|} \sum_c \frac{t_c}{g_c}")),
    AnswerMeasure("MAE", "Mean absolute difference of ordinal labels.", r"\frac{1}{N} \sum_d |s_d - g_d|",
                  "Labels are numbers, or places in --class-order.", "labels", _CEM, _INFINITE, "lower"),
    AnswerMeasure("MSE", "Mean squared difference of ordinal labels.", r"\frac{1}{N} \sum_d (s_d - g_d)^2",
                  "Labels are numbers, or places in --class-order.", "labels", _CEM, _INFINITE, "lower"),
    AnswerMeasure("CEM", "Closeness of ordinal labels, where classes are far apart if many items are between them.",
                  r"\frac{\sum_d prox(s_d, g_d)}{\sum_d prox(g_d, g_d)}",
                  "prox(a, b) is −log2 of half the share of the items of class a, and the shares of the classes from "
                  "there to b.", "labels", _CEM),
    AnswerMeasure("purity", "The share of items that are of the most frequent class of their cluster.",
                  r"\frac{1}{N} \sum_C \max_L |C \cap L|", "C are clusters and L classes.", "labels", _AMIGO),
    AnswerMeasure("inverse-purity", "The share of items that are in the largest part of their class.",
                  r"\frac{1}{N} \sum_L \max_C |C \cap L|", "C are clusters and L classes.", "labels", _AMIGO),
    AnswerMeasure("purity-F", "For each class, F of the cluster that fits it best, averaged by size.",
                  r"\sum_L \frac{|L|}{N} \max_C F(C, L)", "C are clusters and L classes.", "labels", _AMIGO),
    AnswerMeasure("BCubed-P", "The share of an item's cluster that is of its class, averaged over items.",
                  r"\frac{1}{N} \sum_d \frac{|C_d \cap L_d|}{|C_d|}",
                  "C_d and L_d are the cluster and the class of the item.", "labels", _AMIGO),
    AnswerMeasure("BCubed-R", "The share of an item's class that is in its cluster, averaged over items.",
                  r"\frac{1}{N} \sum_d \frac{|C_d \cap L_d|}{|L_d|}",
                  "C_d and L_d are the cluster and the class of the item.", "labels", _AMIGO),
    AnswerMeasure("BCubed-F", "F of BCubed-P and BCubed-R.", r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}",
                  "β is 1 unless --beta is given.", "labels", _AMIGO),
    AnswerMeasure("ppref", "The share of preferences with a document in the first k that are ordered correctly.",
                  r"\frac{|\text{correct}|}{|\text{ordered}|}",
                  "An assessor prefers one of two documents; it is ordered correctly if it is above the other.",
                  "preferences", _BENNETT),
    AnswerMeasure("rpref", "The share of all preferences that the first k documents order correctly.",
                  r"\frac{|\text{correct}|}{|\text{preferences}|}", "Write rpref@k for the first k.", "preferences",
                  _BENNETT),
    AnswerMeasure("wpref", "ppref in which a preference counts less the lower its first document is.",
                  r"\frac{\sum_{correct} w}{\sum_{ordered} w}, \; w = \frac{1}{\log_2(\min(r_i, r_j) + 1)}",
                  "The discount and the division are ours: the paper was not at hand in full.", "preferences",
                  _BENNETT),
    AnswerMeasure("appref", "The mean of ppref over the ranks at which rpref grows.",
                  r"\frac{1}{|K|} \sum_{k \in K} \text{ppref@}k",
                  "As other programs describe it: the paper was not at hand in full.", "preferences", _BENNETT),
)  # fmt: skip
"""All measures of this folder, but for those of sessions."""


def catalogue_name(name: str) -> str:
    """The name under which the catalogue has a measure: ROUGE-2-F is a ROUGE-N, S♯ is S#; others as they are.

    >>> catalogue_name("ROUGE-SU4-R"), catalogue_name("rouge2"), catalogue_name("S♭")
    ('ROUGE-SU', 'ROUGE-N', 'S-flat')
    """
    from cranfield.answers.rouge_scores import parse_rouge
    from cranfield.errors import UsageError

    try:
        return f"ROUGE-{parse_rouge(name)[0].kind}"
    except UsageError:
        return name.replace("♭", "-flat").replace("♯", "#")
