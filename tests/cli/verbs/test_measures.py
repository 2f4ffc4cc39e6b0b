"""`cranfield measures`: the list, the search, the pages."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re
import sys

import pytest

from cranfield.answers import cited_answers
from cranfield.answers.document_preferences import MEASURES as PREFERENCES
from cranfield.answers.item_labels import MEASURES as LABELS
from cranfield.answers.nugget_scores import MEASURES as OF_NUGGETS
from cranfield.answers.nugget_scores import PYRAMIDS
from cranfield.answers.one_click import MEASURES as ONE_CLICK
from cranfield.answers.passages import MEASURES as PASSAGES
from cranfield.answers.sessions import SESSION_MEASURES
from cranfield.answers.verticals import MEASURES as VERTICALS
from cranfield.cli.measure_page import ACCENTS, MEANINGS, SYMBOLS, Page, all_pages, meaning, readable
from cranfield.cli.verb_measures import verb_pages
from cranfield.measures import REGISTRY, parse
from cranfield.measures.property_tables import VIEW_DESCRIPTIONS, describe_views
from tests.cli.conftest import Cranfield

SHIPPED = {name: kind for name, kind in REGISTRY.items() if kind.__module__.startswith("cranfield.")}


def test_every_measure_is_listed_with_a_description_and_its_paper(cranfield: Cranfield) -> None:
    rows = list(csv.DictReader(io.StringIO(cranfield("measures", "--format", "csv").out)))
    listed = {row["measure"]: row for row in rows if row["verb"] == "eval"}
    for name, kind in SHIPPED.items():
        assert listed[name]["reference"] == kind.reference()
        assert len(listed[name]["what it tells"]) > 10


def test_the_list_for_people_names_author_and_year(cranfield: Cranfield) -> None:
    lines = cranfield("measures").out.splitlines()
    assert next(line for line in lines if line.startswith("RBP ")).endswith("Moffat & Zobel 2008")
    assert next(line for line in lines if line.startswith("ERR ")).endswith("Chapelle et al. 2009")


def test_measures_of_sessions_and_texts_are_listed_with_the_verb_that_computes_them(cranfield: Cranfield) -> None:
    rows = list(csv.DictReader(io.StringIO(cranfield("measures", "--format", "csv").out)))
    verbs = {(row["verb"], row["measure"]) for row in rows}
    expected = {
        "sessions": SESSION_MEASURES, "rouge": ["ROUGE-N", "ROUGE-Lsum", "ROUGE-SU"], "bleu": ["BLEU"],
        "nuggets": [*OF_NUGGETS, *PYRAMIDS, "POURPRE"],
        "citations": cited_answers.MEASURES, "one-click": ONE_CLICK, "passages": PASSAGES,
        "verticals": VERTICALS, "labels": LABELS, "preferences": PREFERENCES,
    }  # fmt: skip
    assert {(f"answers {verb}", name) for verb, names in expected.items() for name in names} <= verbs
    text = cranfield("measures").out
    headings = [line for line in text.splitlines() if line.endswith("):") and "(cranfield " in line]
    assert [re.sub(r".*\(cranfield answers (.*)\):", r"\1", heading) for heading in headings] == [*expected]
    found = cranfield("measures", "--search", "session").out
    assert set(SESSION_MEASURES) <= {line.split()[0] for line in found.splitlines() if line}
    assert "Sessions of several queries (cranfield answers sessions):" in found


def test_pages_of_measures_of_other_verbs(cranfield: Cranfield) -> None:
    page = cranfield("measures", "nsDCG@10").out
    for part in (
        "nsDCG: ",
        "Computed by cranfield answers sessions -m nsDCG",
        "bq=4",
        "Range:       0 to 1",
        "ECIR 2008",
    ):
        assert part in page
    assert cranfield("measures", "sDCG").out.startswith("sDCG: Session DCG")
    assert cranfield("measures", "SDCG").out.startswith("SDCG: Scaled DCG")
    assert cranfield("measures", "rouge2").out.startswith("ROUGE-N: ")
    both = json.loads(cranfield("measures", "F", "--format", "json").out)
    assert [(one["name"], one["verb"]) for one in both] == [("F", "eval"), ("F", "answers nuggets")]
    wrong = cranfield("measures", "nosuch")
    assert (wrong.code, wrong.out) == (2, "")


@pytest.mark.parametrize("page", verb_pages(), ids=lambda page: f"{page.verb} {page.name}")
def test_every_page_of_another_verb_is_complete(page: Page) -> None:
    assert page.formula
    assert page.reference
    assert page.example
    assert not re.search(r"[\\]|\(\)", readable(page.formula)), readable(page.formula)
    lines = page.for_people(80).split("\n")
    assert all(len(line) <= 80 or line.startswith("    ") for line in lines)
    for parameter, default in page.parameters.items():
        shown = next(line for line in lines if line.startswith(f"  {parameter}={default}"))
        assert shown.split("  ")[-1].strip() not in ("", f"{parameter}={default}"), parameter


def test_every_command_of_a_formula_is_shown_as_people_write_it() -> None:
    functions = {"min", "max", "log", "ln", "arg", "Pr"}
    for page in [*all_pages(), *verb_pages()]:
        unknown = set(re.findall(r"\\([a-zA-Z]+)", page.formula)) - set(SYMBOLS) - set(ACCENTS) - functions
        assert unknown <= {"frac", "binom", "text"}, page.name
    assert readable(r"\pi(i \mid r)\,\bar{g}_b \ne \emptyset") == "π(i | r) ḡ_b ≠ ∅"


@pytest.mark.parametrize("page", verb_pages(), ids=lambda page: f"{page.verb} {page.name}")
def test_the_example_on_a_page_of_another_verb_runs(page: Page) -> None:
    names = vars(sys.modules["cranfield.answers.sessions"]).copy() if page.verb == "answers sessions" else {}
    test = doctest.DocTestParser().get_doctest(page.example, names, page.name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("page", verb_pages(), ids=lambda page: f"{page.verb} {page.name}")
def test_eval_names_the_verb_of_every_measure_that_is_listed(page: Page, cranfield: Cranfield) -> None:
    if page.name in ("F", "accuracy", "rpref"):  # also measures of ranked lists
        return
    message = cranfield("eval", "--sample", "-m", page.name).err
    assert re.search(rf"{re.escape(page.name)} is a measure of .*: see `cranfield {page.verb}`", message), message


@pytest.mark.parametrize("name", ["rouge2", "ROUGE-L", "ROUGE-SU4-R", "rouge_l"])
def test_eval_names_the_verb_of_every_rouge(name: str, cranfield: Cranfield) -> None:
    assert (
        f"{name} is a measure of summaries: see `cranfield answers rouge`"
        in cranfield("eval", "--sample", "-m", name).err
    )


def test_search(cranfield: Cranfield) -> None:
    result = [line.partition(" ")[0] for line in cranfield("measures", "--search", "moffat residual").out.splitlines()]
    assert "RBPres" in result
    assert "AP" not in result
    nothing = cranfield("measures", "--search", "xyzzy")
    assert (nothing.code, nothing.out) == (2, "")


def test_a_search_for_a_family_finds_all_its_measures(cranfield: Cranfield) -> None:
    listed = cranfield("measures", "--search", "diversity", "--format", "tsv").out.splitlines()
    families = ("diversity", "novelty", "difficulty")
    diverse = {name for name, kind in SHIPPED.items() if kind.__module__.rpartition(".")[2] in families}
    assert {line.partition("\t")[0] for line in listed[1:]} >= diverse


def test_the_list_is_in_families_with_a_heading_each(cranfield: Cranfield) -> None:
    lines = cranfield("measures").out.splitlines()
    sets = lines.index("Sets:")
    assert [line.split()[0] for line in lines[sets + 1 : sets + 5]] == ["P", "R", "F", "E"]
    ranked = lines[: next(at for at, line in enumerate(lines) if "(cranfield answers sessions)" in line)]
    assert sum(line.partition(" ")[0] in SHIPPED for line in ranked) == len(SHIPPED)


@pytest.mark.parametrize("spelling", ["nDCG", "nDCG@10", "ndcg_cut_10", "NDCG10"])
def test_a_page_by_any_spelling(cranfield: Cranfield, spelling: str) -> None:
    page = cranfield("measures", spelling).out
    assert page.startswith("nDCG: ")
    for part in (
        "Σ",
        'gain="linear"',
        "Properties:",
        "Range:       0 to 1; higher is better",
        "Scale:       not interval, on the total orders of lists",
        "doi:10.1145/582415",
        ">>> ",
    ):
        assert part in page


def test_a_page_as_data(cranfield: Cranfield) -> None:
    pages = json.loads(cranfield("measures", "RBP", "CG", "--format", "json").out)
    assert [page["name"] for page in pages] == ["RBP", "CG"]
    assert pages[0]["parameters"]["p"] == "0.8"
    assert pages[0]["formula"].startswith("(1 - p)")
    assert pages[1]["properties"]["high"] is None  # no upper end


@pytest.mark.parametrize("name", SHIPPED)
def test_every_page_is_complete(cranfield: Cranfield, name: str) -> None:
    page = Page.of(SHIPPED[name])
    assert page.formula
    assert page.reference
    assert page.example.startswith(">>> ")
    assert "Reference:" not in page.text
    assert ".. math" not in page.text
    shown = page.for_people(80)
    assert "\\" not in readable(page.formula)
    assert readable(page.formula).count("(") == readable(page.formula).count(")")
    assert page.what.split()[0] in shown
    assert max(map(len, shown.split("\n"))) <= 80 or len(readable(page.formula)) > 76
    for parameter, default in page.parameters.items():
        assert meaning(parameter, default) or parameter in page.text + page.formula, parameter


def test_a_parameter_with_several_meanings_is_explained_by_its_default() -> None:
    assert meaning("alpha", "None").startswith("the weight of precision")
    assert "repeats an intent" in meaning("alpha", "0.5")
    known = {f"{name}={default}" for kind in SHIPPED.values() for name, default in Page.of(kind).parameters.items()}
    assert {key for key in MEANINGS if "=" in key} <= known  # none of them has lost its measure


def test_formulas() -> None:
    assert readable(r"\frac{1}{R}\sum_r I(r)\frac{C(r)}{r}") == "1/R Σ_r I(r) C(r)/r"
    assert readable(r"\frac{a + b}{2}, \qquad x^{r-1}") == "(a + b)/2\nx^(r-1)"
    assert readable(r"1 - \text{Judged}") == "1 - Judged"
    assert readable(r"\sum_{i \in \{0, 1\}} \lfloor x \rfloor") == "Σ_{i ∈ {0, 1}} ⌊x⌋"


@pytest.mark.parametrize("name", SHIPPED)
def test_no_latex_is_left_in_a_formula(name: str) -> None:
    formula = Page.of(SHIPPED[name]).formula.replace(r"\{", "⟨").replace(r"\}", "⟩")  # braces of sets stay
    below_a_letter = re.compile(r"_\{[^{}]*\}")
    left = below_a_letter.sub("", readable(formula))
    assert not re.search(r"[\\{}]|\(\)|Big|binom|hat|frac|\bpi\b", left), left


def test_formulas_with_hats_and_binomials() -> None:
    assert readable(r"\frac{1}{\hat R} {x}") == "1/R̂ {x}"
    assert readable(r"\frac{a b} {\hat{g}}") == "(a b)/ĝ"
    assert readable(r"\binom{n + 1}{k}\Big(x\Big)") == "(n + 1 choose k)(x)"
    assert readable(r"2^{g_{i,\max}}") == "2^(g_{i,max})"


# -- views

READ = {
    "D#-nDCG": ["D-", "#"],
    "nDCG-IA": ["-IA"],
    "D-U": ["D-"],
    "DIN-Q": ["DIN-"],
    "AP'": ["'"],
    "AP[ties]": ["[ties]"],
    "P+Q#(gamma=0.3)": ["#"],
    "AP'[best,ties=worst]": ["'", "[best]", "[ties=worst]"],
    "CAM(AP')": ["'"],
}


@pytest.mark.parametrize("name", READ)
def test_a_page_explains_the_parts_of_a_name(cranfield: Cranfield, name: str) -> None:
    page = cranfield("measures", name).out
    assert page.startswith(f"{name}: ")
    assert [line.split()[0] for line in page.split("\n\n")[0].splitlines() if line[2] != " "][1:] == READ[name]
    assert f"(of {name})" in page
    assert "Scale:" not in page


def test_every_view_is_explained() -> None:
    marks = {mark for name in READ for mark in describe_views(parse(name))} | {"[worst]", "[ties=best]"}
    assert marks == set(VIEW_DESCRIPTIONS)
    assert all(view in VIEW_DESCRIPTIONS for view in describe_views(parse("AP[worst,ties=best]")))


def test_the_formula_of_a_view_names_what_is_read(cranfield: Cranfield) -> None:
    page = " ".join(cranfield("measures", "D#-nDCG(gamma=0.3)").out.split())
    assert "g(r) = Σ_i Pr(i|q) g_i(r)" in page
    assert "γ I-rec + (1 − γ) D-nDCG, γ = 0.3" in page
    assert "Properties: graded, normalised, diminishing, intent-probabilities (of D#-nDCG(gamma=0.3))" in page


def test_the_page_of_D_Q_explains_the_cutoff(cranfield: Cranfield) -> None:
    assert "`@l` divides by min(l, R)" in cranfield("measures", "D-Q").out
    assert "divides by min(l, R): that is" not in cranfield("measures", 'D-Q(norm="min")').out


def test_equal_pages_are_shown_once(cranfield: Cranfield) -> None:
    pages = json.loads(cranfield("measures", "nDCG@5", "nDCG@10", "AP", "AP@10", "AP'", "--format", "json").out)
    assert [page["asked"] for page in pages] == ["nDCG@5", "AP", "AP@10", "AP'"]
    assert [page["properties"]["normalised"] for page in pages] == [True, True, False, True]
    assert pages[3]["properties"]["additive"] is None
    assert list(pages[3]["views"]) == ["'"]


def test_the_views_named_by_the_list_can_be_parsed(cranfield: Cranfield) -> None:
    lines = cranfield("measures", "--why").out.splitlines()
    result = next(line for line in lines if line.startswith("every measure has variants"))
    views = re.findall(r"AP(?:-IA#?|'|\[[^]]*\])|D(?:IN)?#?-nDCG", result)
    assert len(views) == 12
    for view in views:
        assert str(parse(view)) == view


def test_names_or_search(cranfield: Cranfield) -> None:
    assert cranfield("measures", "AP", "--search", "x").code == 2
    assert cranfield("measures", "XYZ").code == 2


# -- which measure has which property


def test_the_table_has_every_measure_in_one_of_two_figures(cranfield: Cranfield) -> None:
    lists, intents = cranfield("measures", "--table").out.split("\n\n")
    assert lists.startswith("Measures of ranked lists\nmeasure ")
    assert intents.startswith("Measures of diversity\nmeasure ")
    shown = [{line.split()[0]: line.split()[1:] for line in part.splitlines()[2:]} for part in (lists, intents)]
    for name, kind in SHIPPED.items():
        assert (name in shown[0]) == (kind.needs != "intents")
        assert (name in shown[1]) == (kind.needs == "intents")
    # Sakai 2014 Fig. 6 and 7
    assert shown[0]["U"] == ["yes", "-", "yes", "yes", "yes", "yes"]
    assert shown[1]["U-IA"] == ["yes", "yes", "-", "yes", "yes", "yes"]


def test_the_table_explains_its_headings_once(cranfield: Cranfield) -> None:
    lines = cranfield("measures", "--table", "--why").out.splitlines()
    assert [line.partition(":")[0] for line in lines if ": " in line] == [
        "graded", "normalised", "recall-free", "diminishing", "lengths", "nonlinear",
        "intent grades", "intent probabilities", "alpha#-IA",
    ]  # fmt: skip
    assert "is found greedily, and another list can score more" in "".join(lines)


def test_the_table_of_some_measures_by_any_spelling(cranfield: Cranfield) -> None:
    out = cranfield("measures", "--table", "ndcg_cut_10", "D#-nDCG@10", "--format", "csv").out
    assert out.splitlines() == [
        "kind,measure,graded,normalised,recall_free,diminishing,lengths,nonlinear,intent_probabilities",
        "ranked,nDCG@10,1,1,0,0,0,0,",
        "diversity,D#-nDCG@10,1,0,0,1,0,,1",  # of a topic with 11 intents no ten documents need have them all
    ]
    assert "diversity" not in cranfield("measures", "--table", "AP").out


def test_unknown_properties_of_a_view_are_marked(cranfield: Cranfield) -> None:
    table = cranfield("measures", "--table", "AP'", "AP", "--why").out.splitlines()
    assert table[2].split() == ["AP'", "-", "yes", "-", "?", "-", "-"]
    assert table[3].split() == ["AP", "-", "yes", "-", "-", "-", "-"]
    assert "?: not known of this variant of the measure" in table
    assert cranfield("measures", "--table", "AP'", "--format", "csv").out.splitlines()[1] == "ranked,AP',0,1,0,,0,0,"


def test_the_table_notes_which_measures_are_views(cranfield: Cranfield) -> None:
    assert "do not compare with published scores" in cranfield("measures", "--table", "alpha#-nERR-IA@5", "--why").out
    assert "do not compare" not in cranfield("measures", "--table", "alpha-nDCG").out
    assert "alpha#-IA: the formula follows" in cranfield("measures", "--why").out


def test_the_table_by_parameters(cranfield: Cranfield) -> None:
    asked = ("ERR-IA", 'ERR-IA(dialect="ndeval")', "AP@10", 'AP(norm="min")@10')
    rows = csv.DictReader(io.StringIO(cranfield("measures", "--table", *asked, "--format", "csv").out))
    result = {row["measure"]: row for row in rows}
    assert [(result[name]["graded"], result[name]["intent_probabilities"]) for name in asked[:2]] == [
        ("1", "1"),
        ("0", "0"),
    ]
    assert [result[name]["normalised"] for name in asked[2:]] == ["0", "1"]


@pytest.mark.parametrize("format", ["latex", "markdown", "html", "tsv", "json"])
def test_the_table_in_every_format(cranfield: Cranfield, format: str) -> None:
    result = cranfield("measures", "--table", "--format", format)
    assert (result.code, result.err) == (0, "")
    assert all(name in result.out for name in ("nDCG", "alpha-nDCG", "normalised"))
    if format == "json":
        rows = {row["measure"]: row for row in json.loads(result.out)["rows"]}
        assert rows["TBG"]["lengths"] == 1
        assert rows["alpha-nDCG"]["nonlinear"] is None


def test_the_table_is_not_searched(cranfield: Cranfield) -> None:
    assert cranfield("measures", "--table", "--search", "x").code == 2
    assert cranfield("measures", "--table", "--format", "xml").code == 2
