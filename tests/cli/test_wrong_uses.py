"""What new users type wrongly is an error that names the way, or is understood: a table by kind of user.

With `tests/operations/test_wrong_calls.py`, the table for Python, these are more than 100 wrong uses.
"""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

STUDENT = {
    "eval q.txt a.run --metric AP": "did you mean '--measure'?",
    "eval q.txt a.run --measures AP": "did you mean '--measure'?",
    "eval q.txt a.run --cutoff 10": "a cutoff is part of the measure: -m nDCG@10",
    "eval q.txt a.run -k 10": "a cutoff is part of the measure: -m nDCG@10",
    "eval q.txt a.run --per-query": "did you mean '--per-topic'?",
    "eval q.txt a.run --confidence 0.9": "did you mean '--level'?",
    "eval q.txt a.run --level 95": "--level == 95, must be above 0 and below 1, such as 0.95",
    "eval q.txt a.run --level 95%": "'95%' is not a number; write 0.95",
    "eval q.txt a.run --ci 0.9": "--ci takes no value, got 0.9; the level is --level L",
    "eval q.txt a.run -m ndgc@10": "did you mean nDCG?",
    "eval q.txt a.run -m nDCG@0": "the cutoff must be a whole number, 1 or more",
    "eval q.txt a.run -m nDCG@-5": "the cutoff must be a whole number, 1 or more",
    "eval q.txt a.run -m accuracy": "Accuracy needs the number of documents in the collection",
    "eval a.run q.txt": "judgments come first",
    "eval a.run b.run": "expected judgments",
    "eval q.txt": "no run to score against q.txt",
    "eval q.txt q.txt": "these are judgments, expected a run",
    "compare q.txt a.run -m AP": "a comparison needs 2 or more",
    "compare q.txt a.run b.run -m AP --alpha 5": "--alpha == 5.0, must be above 0 and below 1",
    "compare q.txt a.run b.run -m AP --p-value 0.05": "did you mean '--alpha'?",
    "compare q.txt a.run b.run -m AP --bonferroni": "did you mean '--correction'?",
    "compare q.txt a.run b.run -m AP --correction bonferoni": "did you mean 'bonferroni'?",
    "compare q.txt a.run b.run -m AP --iterations 100": "did you mean '--resamples'?",
    "compare q.txt a.run b.run -m AP --baseline c": "no system 'c'; there are 'a', 'b'",
    "power q.txt a.run b.run -m AP --topics 50": "did you mean '--size'?",
    "power q.txt a.run b.run -m AP --difference 5%": "'5%' is not a number; write 0.05",
    "explain q.txt a.run -m AP": "name a topic to explain with --topic; q.txt has 1, 2, 3",
    "explain q.txt a.run --query 1 -m AP": "did you mean '--topic'?",
    "explain q.txt a.run --topic 99 -m AP": "judged topics are 1, 2, 3",
    "meta power q.txt a.run": "1 system, must be 3 or more",
    "evaluate q.txt a.run": "did you mean 'eval'?",
    "ttest q.txt a.run b.run": "did you mean 'compare'?",
}
SEARCH_ENGINEER = {
    "eval --qrels q.txt --run a.run": "judgments are named without an option, before the runs",
    "eval --run a.run --qrels q.txt": "runs are named without an option, after the judgments",
    "eval q.txt https://example.org/a.run": "files are not read from the network",
    "eval q.txt folder": "folder: is a directory, expected a file",
    "eval book.xlsx a.run": "is an Excel workbook; save the sheet as 'CSV UTF-8'",
    "eval words.qrels a.run": "the grade is 'relevant', expected a number",
    "eval missing.csv a.run": "missing.csv:3: the grade is '', expected a number",
    "eval empty.txt a.run": "is empty, expected qrels",
    "eval nohead.csv a.run": "--columns topic,doc,grade",
    "eval q.txt topics.tsv": "topics.tsv:1: 2 columns, expected 6",
    "eval q.txt nothere.run": "nothere.run: no such file",
    "eval q.txt 'nothere/*.run'": "no file matches this pattern",
    "eval q.txt a.run -o out.docx": ".docx is not written here; name a file that ends in",
    "eval q.txt a.run --format excel": "must be one of 'table', 'json', 'csv'",
    "eval q.txt a.run --json": "did you mean '--format'?",
    "eval q.txt a.run --out x.csv": "did you mean '--output'?",
    "eval q.txt a.run --top-k 10": "a cutoff is part of the measure",
    "metrics": "did you mean 'measures'?",
    "plot histogram q.txt a.run -o x.png": "must be one of 'boxes', 'curves'",
    "gate q.txt a.run": "nothing to check: give a baseline",
    "ab analyse users.csv": "no metric; name one",
    "ab analyse users.csv --metric profit": "no column 'profit'; there are 'user', 'arm', 'revenue'",
    "ab analyse users.csv -m revenue --user user": "did you mean '--unit'?",
    "ab analyze users.csv -m revenue": "did you mean 'analyse'?",
    "log check nothere/": "nothere/: no such file",
    "interleave simulate q.txt a.run": "interleaving needs two or more",
}
ORGANISER = {
    "eval q.txt a.run -c": "topics that a run lacks count 0",
    "eval q.txt a.run -l 2": "the lowest relevant grade is part of the measure: -m 'AP(rel=2)'",
    "eval q.txt a.run -M 100": "did you mean '--depth'?",
    "eval q.txt a.run --depth -5": "must be a whole number, 1 or more",
    "eval q.txt a.run --depth ten": "'ten' is not a whole number",
    "eval q.txt a.run --missing none": "must be one of 'zero', 'skip'",
    "trec-eval q.txt a.run": "did you mean 'eval'?",
    "pool a.run --k 10": "did you mean '--depth'?",
    "pool a.run --depth 0": "must be a whole number, 1 or more",
    "pool q.txt": "these are judgments, expected a run",
    "pool a.run b.run --per-topic 10": "did you mean '--most-per-topic'?",
    "pool a.run -o pool.docx": ".docx is not written here; name a file that ends in .tsv",
    "merge labels.csv": "is now 'cranfield labels merge'",
    "kappa labels.csv": "did you mean 'labels agree'?",
    "labels merge labels.csv --method majorty": "did you mean 'majority'?",
    "labels agree q.txt": "all labels are by one assessor",
    "report q.txt a.run -o report.pdf": ".pdf is not written here; name a file that ends in .html or .tex",
    "convert q.txt": "missing argument DST",
    "judge serve my.db": "give a file of topics",
    "bake": "there are eval, measures",
}
BUILDER_OF_ANSWERS = {
    "eval q.txt a.run -m faithfulness": "there is no measure 'faithfulness'",
    "answers rouge answers.jsonl": "give a file or a folder of them: --reference SOURCE",
    "answers rouge answers.jsonl --ref nothere.jsonl": "did you mean '--reference'?",
    "answers rouge answers.jsonl --reference nothere.jsonl": "nothere.jsonl: no such file",
    "answers citations answers.jsonl": "no column for the sentence",
    "answers nuggets answers.jsonl": "nothing to score; give --assignments FILE",
    "machine label topics.tsv a.run answers.jsonl": "name one with --endpoint URL",
    "machine label topics.tsv a.run answers.jsonl --api-key x": "did you mean '--key-variable'?",
    "machine label topics.tsv a.run answers.jsonl --base-url x": "did you mean '--endpoint'?",
}
MAKER_OF_RECOMMENDATIONS = {
    "eval q.txt a.run -m coverage@10": "there is no measure 'coverage'",
    "eval q.txt --recommendations a.run": "runs are named without an option, after the judgments",
    "eval --ground-truth q.txt a.run": "judgments are named without an option, before the runs",
    "fairness q.txt a.run --protected women": "applies only to FA*IR",
    "fairness q.txt a.run --providers p.tsv": "did you mean '--groups'?",
    "fuse a.run b.run --method rff": "did you mean 'rrf'?",
    "abtest users.csv": "did you mean 'ab analyse'?",
}
WRONG = STUDENT | SEARCH_ENGINEER | ORGANISER | BUILDER_OF_ANSWERS | MAKER_OF_RECOMMENDATIONS
UNDERSTOOD = {
    "eval q.txt a.run -m ndcg_cut_10": "nDCG@10",
    "eval q.txt a.run -m recip_rank": "RR",
    "eval q.txt a.run -m map@100": "AP@100",
    "eval q.txt a.run -m hit_rate@10": "Success@10",
    "eval q.txt a.run -m F1@10": "F@10",
    "eval semi.csv a.run -m RR": "RR",
    "compare q.txt a.run b.run -m AP --test student": "AP",
    "labels agree labels.csv --coefficient cohen": "Cohen's κ",
    "ab analyse users.csv -m revenue": "revenue",
}
"""Words of other tools that are understood, each with what is printed."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("".join(f"{t} 0 d{d} {int(d % 3 == 0)}\n" for t in (1, 2, 3) for d in range(6)))
    for run, step in (("a", 2), ("b", 5)):
        rows = [f"{t} Q0 d{d * step % 7} {d + 1} {9 - d} {run}\n" for t in (1, 2, 3) for d in range(6)]
        Path(f"{run}.run").write_text("".join(rows))
    Path("semi.csv").write_text("topic;doc;grade\n1;d1;1\n1;d2;0\n")
    Path("words.qrels").write_text("1 0 d1 relevant\n1 0 d2 no\n")
    Path("missing.csv").write_text("topic,doc,grade\n1,d1,1\n1,d2,\n")
    Path("nohead.csv").write_text("1,d1,1\n1,d2,0\n")
    Path("empty.txt").write_text("")
    Path("topics.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n")
    Path("users.csv").write_text("user,arm,revenue\n" + "".join(f"u{n},{'AB'[n % 2]},{n % 5}\n" for n in range(40)))
    Path("answers.jsonl").write_text('{"topic": "1", "run": "x", "text": "an answer"}\n')
    labels = [f"t{n},{who},{(n + len(who)) % 2}\n" for n in range(9) for who in ("ann", "bo", "cy")]
    Path("labels.csv").write_text("task,assessor,label\n" + "".join(labels))
    Path("folder").mkdir()
    with zipfile.ZipFile("book.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_use_names_the_way(cranfield: Cranfield, files: None, line: str) -> None:
    done = cranfield(*shlex.split(line))
    assert done.code in (1, 2)
    assert (WRONG[line] in done.err, done.err.count("\n"), "Traceback" in done.err) == (True, 1, False), done.err
    assert done.out == ""


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_words_of_other_tools_are_understood(cranfield: Cranfield, files: None, line: str) -> None:
    done = cranfield(*shlex.split(line))
    assert (done.code, UNDERSTOOD[line] in done.out) == (0, True), done.err


def test_there_are_more_than_a_hundred() -> None:
    from tests.operations.test_wrong_calls import WRONG as IN_PYTHON

    assert len(WRONG) + len(IN_PYTHON) > 100


@pytest.mark.parametrize(
    ("verb", "word"),
    [("eval", "--verbose"), ("eval", "--color"), ("compare", "--weights-file"), ("eval", "--quantity"), ("eval", "-z")],
)
def test_nothing_is_suggested_when_unsure(cranfield: Cranfield, files: None, verb: str, word: str) -> None:
    done = cranfield(verb, "q.txt", "a.run", word)
    assert done.err == f"error: no option '{word}'; see: cranfield {verb} --help\n"
