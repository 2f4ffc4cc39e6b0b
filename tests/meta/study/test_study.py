"""Studies: every step is computed once, even if the study is interrupted."""

import functools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

import cranfield.evaluation
from cranfield.collection import source
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.meta.agreement.correlation import correlate
from cranfield.meta.study import inputs as study_inputs
from cranfield.meta.study.inputs import Cache, measure_key, table_from_plain, table_to_plain
from cranfield.meta.study.study import Outcome, run_study
from cranfield.meta.study.study_file import EXAMPLE, plan_of, read_study
from cranfield.meta.study.study_methods import METHODS, methods_table
from cranfield.notes import notes_elsewhere
from cranfield.scores.summary import Estimate
from cranfield.table import Column, Table

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

TOPICS = 8
STUDY = """
measures = ["AP", "P@5"]
seed = 1
[collections.tiny]
qrels = "qrels.txt"
runs = ["*.run"]
[methods.correlate]
resamples = 20
[methods.gtheory]
[methods.tukey]
method = "compare"
test = "tukey"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four runs over eight topics: run k has its relevant documents further down the larger k is, topic by topic."""
    (tmp_path / "qrels.txt").write_text("".join(f"{t} 0 d{d} {int(d < 4)}\n" for t in range(TOPICS) for d in range(8)))
    for k in range(4):
        lines = []
        for t in range(TOPICS):
            order = sorted(range(8), key=lambda d, k=k, t=t: (d * (k + 1) + t * d * d) % 11)  # type: ignore[misc]
            lines += [f"{t} Q0 d{d} {r} {10 - r} run{k}\n" for r, d in enumerate(order, 1)]
        (tmp_path / f"r{k}.run").write_text("".join(lines))
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """The run file and measures of each evaluation."""
    seen: list[tuple[str, tuple[str, ...]]] = []

    class Spy(cranfield.evaluation.Evaluator):
        def evaluate(self, runs: Any, progress: Any = None) -> Any:
            seen.append((os.path.basename(runs[0]), tuple(map(str, self.measures))))
            return super().evaluate(runs, progress)

    monkeypatch.setattr(study_inputs, "Evaluator", Spy)
    return seen


def states(outcome: Outcome) -> dict[str, str]:
    return {step.label: step.state for step in outcome.steps}


def results(folder: Path) -> dict[str, bytes]:
    """All files of a study but those of the cache."""
    root = folder / "study-results"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".cache" not in path.parts
    }


def edit(folder: Path, old: str, new: str) -> None:
    text = (folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new))


# -- what is done


def test_tables_are_those_of_the_methods_themselves(folder: Path) -> None:
    outcome = run_study(folder / "study.toml")
    assert states(outcome) == dict.fromkeys(("correlate", "gtheory", "tukey"), "computed")
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "*.run"), ["AP", "P@5"])
    table = correlate(scores, resamples=20, seed=1).table()
    where = folder / "study-results" / "tiny"
    assert (where / "correlate.csv").read_text() == table.csv() + "\n"
    assert (where / "correlate.json").read_text() == table.json() + "\n"
    assert (where / "correlate.tex").read_text() == table.latex() + "\n"
    assert len((where / "tukey.data.csv").read_text().splitlines()) == 1 + 2 * 6  # two measures, six pairs
    report = (folder / "study-results" / "report.md").read_text()
    assert report.startswith("# study\n")
    with notes_elsewhere(""):  # a report has all notes
        assert table.markdown() in report


def test_every_method_has_a_function_and_options() -> None:
    assert [row[0] for row in methods_table().rows] == list(METHODS)
    needed = {"power", "swap", "correlate", "concord", "loo", "robust", "scale", "gtheory", "compare"}
    assert needed <= METHODS.keys()


def test_methods_on_runs_on_measures_and_with_gold_standards(folder: Path) -> None:
    (folder / "teams.txt").write_text("run0 A\nrun1 A\nrun2 B\nrun3 B\n")
    edit(folder, 'runs = ["*.run"]', 'runs = ["*.run"]\nteams = "teams.txt"')
    with (folder / "study.toml").open("a") as file:
        file.write('[methods.loo]\npool_depth = 3\n[methods.scale]\n[methods.concord]\ngold = ["P@1"]\n')
    outcome = run_study(folder / "study.toml")
    assert not outcome.failed
    assert "A" in (folder / "study-results" / "tiny" / "loo-contributions.csv").read_text()
    assert (folder / "study-results" / "scale.csv").exists()  # of no collection
    assert "P@1" not in (folder / "study-results" / "tiny" / "correlate.csv").read_text()  # gold for concord only


def test_every_method_runs_in_a_study(folder: Path) -> None:
    (folder / "prefer.txt").write_text("0 run0 run1 A\n1 run1 run2 B\n2 run0 run3 A\n")
    options: dict[str, dict[str, Any]] = {
        "concord": {"gold": ["P@1"]},
        "predict": {"preferences": "prefer.txt"},
        "gains": {"gains": ["1", "3"], "measures": ["nDCG@3"]},
        "reproduce": {"baseline": ["run0", "run1"], "advanced": ["run2", "run3"]},
        "tests": {"simulations": 20, "resamples": 20},
        "worked-examples": {"text": "course2015"},
        "errata": {"text": "course2015"},
    }
    plan = plan_of(
        {
            "measures": ["AP", "P@5"],
            "collections": {"tiny": {"qrels": "qrels.txt", "runs": ["*.run"]}},
            "methods": {name: {**options.get(name, {})} for name in METHODS},
        },
        str(folder / "all.toml"),
    )
    outcome = run_study(plan)
    assert [(step.label, step.error) for step in outcome.failed] == []
    assert {step.label for step in outcome.steps} == METHODS.keys()
    assert {step.state for step in run_study(plan).steps} == {"cached"}


def test_runs_with_the_same_tag_are_named_as_by_evaluate(folder: Path) -> None:
    for path in folder.glob("*.run"):
        path.write_text(path.read_text().replace(path.stem.replace("r", "run"), "same"))
    run_study(folder / "study.toml")
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "*.run"), ["AP"])
    ranking = (folder / "study-results" / "tiny" / "tukey.csv").read_text()
    assert scores.runs == ("r0", "r1", "r2", "r3")
    assert all(f",{run}," in ranking for run in scores.runs)


def test_saved_scores_of_unknown_measures(folder: Path) -> None:
    (folder / "scores.csv").write_text("topic,a,b,c\n1,0.1,0.2,0.4\n2,0.3,0.3,0.5\n3,0.2,0.4,0.4\n")
    plan = plan_of(
        {
            "output": "study-results",
            "collections": {"saved": {"scores": "scores.csv"}},
            "methods": {"gtheory": {}, "mine": {"method": "gtheory", "measures": ["score"]}},
        },
        str(folder / "s.toml"),
    )
    assert states(run_study(plan)) == {"gtheory": "computed", "mine": "computed"}


def test_a_failed_step_is_reported_and_the_others_run(folder: Path) -> None:
    for k in (2, 3):
        (folder / f"r{k}.run").unlink()
    outcome = run_study(folder / "study.toml")
    assert states(outcome) == {"correlate": "failed", "gtheory": "failed", "tukey": "computed"}
    assert "2 systems, must be 3 or more" in outcome.failed[0].error
    assert "failed: correlate: 2 systems" in (folder / "study-results" / "report.md").read_text()
    assert "1 computed, 2 failed" in str(outcome)


def test_names_of_runs_are_escaped_in_html(folder: Path) -> None:
    edit(folder, "seed = 1", 'seed = 1\nreport = "report.html"\ntitle = "<b>bold</b>"')
    path = folder / "r0.run"
    path.write_text(path.read_text().replace("run0", "<script>alert(1)</script>"))
    run_study(folder / "study.toml")
    page = (folder / "study-results" / "report.html").read_text()
    assert "<script" not in page
    assert "&lt;b&gt;bold" in page


def test_progress_reaches_the_end(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    run_study(folder / "study.toml", progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[0] == (0, 3000)
    assert seen[-1] == (3000, 3000)


# -- nothing is computed twice


def test_a_second_run_computes_nothing(folder: Path, scored: list[Any]) -> None:
    run_study(folder / "study.toml")
    before = results(folder)
    assert scored == [(f"r{k}.run", ("AP", "P@5")) for k in range(4)]  # each file once, for all methods
    scored.clear()
    shutil.rmtree(folder / "study-results" / "tiny")
    assert set(states(run_study(folder / "study.toml")).values()) == {"cached"}
    assert scored == []
    assert results(folder) == before


def test_after_adding_a_measure_only_that_measure_is_scored(folder: Path, scored: list[Any]) -> None:
    run_study(folder / "study.toml")
    scored.clear()
    edit(folder, '"P@5"]', '"P@5", "nDCG@3"]')
    outcome = run_study(folder / "study.toml")
    assert scored == [(f"r{k}.run", ("nDCG@3",)) for k in range(4)]
    assert set(states(outcome).values()) == {"computed"}
    together = evaluate(str(folder / "qrels.txt"), str(folder / "*.run"), ["AP", "P@5", "nDCG@3"])
    expected = correlate(together, resamples=20, seed=1).table().csv()
    assert (folder / "study-results" / "tiny" / "correlate.csv").read_text() == expected + "\n"


def test_after_changing_a_run_only_that_run_is_scored(folder: Path, scored: list[Any]) -> None:
    run_study(folder / "study.toml")
    scored.clear()
    path = folder / "r2.run"
    path.write_text(path.read_text().replace("0 Q0 d0 ", "0 Q0 x "))
    assert set(states(run_study(folder / "study.toml")).values()) == {"computed"}
    assert scored == [("r2.run", ("AP", "P@5"))]


def test_results_of_other_options_are_cached_separately(folder: Path, scored: list[Any]) -> None:
    run_study(folder / "study.toml")
    scored.clear()
    edit(folder, "resamples = 20", "resamples = 30")
    assert states(run_study(folder / "study.toml")) == {"correlate": "computed", "gtheory": "cached", "tukey": "cached"}
    assert scored == []
    edit(folder, "resamples = 30", "resamples = 20")
    assert set(states(run_study(folder / "study.toml")).values()) == {"cached"}


def test_another_version_of_the_code_computes_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_study(folder / "study.toml")
    monkeypatch.setattr(study_inputs, "code_version", lambda: "another")
    assert set(states(run_study(folder / "study.toml")).values()) == {"computed"}


def test_changed_judgments_compute_everything(folder: Path) -> None:
    run_study(folder / "study.toml")
    (folder / "qrels.txt").write_text((folder / "qrels.txt").read_text().replace("0 0 d0 1", "0 0 d0 0"))
    assert set(states(run_study(folder / "study.toml")).values()) == {"computed"}


def test_a_user_defined_measure_is_cached_by_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "own_measure_of_a_study.py"
    module.write_text("def Own(lists):\n    return lists.num_ret * 0.0\n")
    from cranfield.measures import parse

    name = str(parse("own_measure_of_a_study:Own", modules=True))
    before = measure_key(name)
    module.write_text(module.read_text() + "# changed\n")
    assert measure_key(name) != before
    assert measure_key("nDCG@10") == "nDCG@10"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in the working directory that leaves a trace when it is imported."""
    name = f"evil_{tmp_path.name.replace('-', '_')}"
    lines = ["from pathlib import Path", "Path('trace').write_text('run')", "def X(lists):"]
    code = "\n".join([*lines, "    return lists.topic * 0.5", ""])
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    return tmp_path / f"{name}.py"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"P@5"', '"{}:X"'),
        ('"P@5"', '"CAM({}:X)"'),
        ('runs = ["*.run"]', 'runs = ["*.run"]\nmeasures = ["{}:X"]'),
        ("[methods.gtheory]", '[methods.concord]\ngold = ["{}:X"]'),
        ("[methods.gtheory]", '[methods.axioms]\nmeasures = ["{}:X"]'),
        ("[methods.gtheory]", '[methods.gtheory]\nmeasures = ["{}:X"]'),
    ],
)
def test_a_study_file_imports_no_code(folder: Path, evil: Path, old: str, new: str) -> None:
    edit(folder, old, new.format(evil.stem))
    with pytest.raises(UsageError, match=rf"would run the code of module '{evil.stem}'.*modules="):
        run_study(folder / "study.toml")
    assert not (folder / "trace").exists()


def test_a_study_of_saved_scores_imports_no_code(folder: Path, evil: Path) -> None:
    (folder / "s.csv").write_text("measure,run,topic,value\n" + "".join(f"AP,r{r},1,0.{r}\n" for r in range(4)))
    content = {"collections": {"s": {"scores": "s.csv"}}, "methods": {"gtheory": {"measures": [f"{evil.stem}:X"]}}}
    outcome = run_study(plan_of(content, str(folder / "study.json")))
    assert "no measure" in outcome.steps[0].error
    assert not (folder / "trace").exists()


def test_a_study_imports_the_modules_that_are_allowed(folder: Path, evil: Path) -> None:
    edit(folder, '"P@5"', f'"{evil.stem}:X"')
    assert states(run_study(folder / "study.toml", modules=[evil.stem]))["tukey"] == "computed"
    assert (folder / "trace").exists()


def test_a_value_of_the_wrong_kind_is_cut_when_it_is_printed(folder: Path) -> None:
    for old, new in (("resamples = 20", f"resamples = {['x' * 9000] * 900}"), ("seed = 1", f"seed = '{'y' * 10**6}'")):
        edit(folder, old, new)
        with pytest.raises(UsageError, match="must be a whole number") as error:
            read_study(folder / "study.toml")
        assert len(str(error.value)) < 500
        edit(folder, new, old)


@pytest.mark.parametrize("key", ["qrels", "runs", "order", "precision", "depth", "format", "lengths", "missing_length"])
@pytest.mark.parametrize("value", ["y" * 10**6, ["x" * 5000] * 2000, {"a": ["x" * 5000] * 2000}])
def test_long_values_of_a_collection_are_cut_in_messages(folder: Path, key: str, value: Any) -> None:
    collection = {"qrels": "qrels.txt", "runs": ["*.run"], key: value}
    content = {"measures": ["AP", "RR"], "collections": {"c": collection}, "methods": {"gtheory": {}}}
    try:
        says = run_study(plan_of(content, str(folder / "study.json"))).steps[0].error
    except (UsageError, DataError) as error:
        says = str(error)
    assert 0 < len(says) < 1_000


ALIASES = "\n".join(["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{ALIASES}\nmethods: *a8\n", "its aliases stand for [0-9,]+ values, at most 100,000 are allowed"),
        ("methods: &m [*m]\n", "its aliases stand for infinitely many values"),
        (f"{ALIASES}\n<<: *a8\n", "its aliases stand for"),
    ],
)
def test_aliases_of_aliases_are_refused(tmp_path: Path, text: str, says: str) -> None:
    # 2 · 9^8 values from a file of 1 KB: "billion laughs"
    assert len(text) < 1024
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(DataError, match=says) as error:
        read_study(tmp_path / "study.yaml")
    assert len(str(error.value)) < 300


def test_aliases_that_share_a_value_are_read(folder: Path) -> None:
    text = 'measures: &m [AP, "P@5"]\ncollections: {s: {scores: s.csv, measures: *m}}\nmethods: {gtheory: {}}\n'
    (folder / "shared.yaml").write_text(text)
    assert read_study(folder / "shared.yaml").collections[0].measures == ("AP", "P@5")


# -- whatever happens in between


def test_a_damaged_entry_is_computed_again(folder: Path) -> None:
    run_study(folder / "study.toml")
    before = results(folder)
    entries = [path for path in (folder / "study-results" / ".cache").rglob("*") if path.is_file()]
    for i, path in enumerate(entries):
        content = path.read_bytes()
        path.write_bytes([b"", content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 1])][i % 3])
    assert set(states(run_study(folder / "study.toml")).values()) == {"computed"}
    assert results(folder) == before


class Killed(BaseException):
    """Simulates the sudden end of the process."""


def test_a_study_stopped_before_any_write_continues_to_the_same_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(folder, STUDY[STUDY.index("[methods.gtheory]") :], "")
    run_study(folder / "study.toml")
    expected = results(folder)
    real = os.replace
    for moment in range(20):
        shutil.rmtree(folder / "study-results")
        left = [moment]

        def replace(a: str, b: str, left: list[int] = left) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1
            real(a, b)

        monkeypatch.setattr(source.os, "replace", replace)
        try:
            run_study(folder / "study.toml")
        except Killed:
            finished = False
        else:
            finished = True
        monkeypatch.setattr(source.os, "replace", real)
        run_study(folder / "study.toml")
        assert results(folder) == expected
        if finished:
            break
    assert finished, "more writes than moments"
    assert moment == 4 + 1 + 4 + 1  # scores of four runs, the result, its four files, the report


def test_a_killed_study_continues_to_the_same_result(folder: Path) -> None:
    words = [sys.executable, "-m", "cranfield", "meta", "study", str(folder / "study.toml"), "--quiet"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    cache = folder / "study-results" / ".cache"
    until = time.monotonic() + 30
    while not any(cache.rglob("*")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.001)
    process.kill()
    process.wait()
    run_study(folder / "study.toml")
    after = results(folder)
    shutil.rmtree(folder / "study-results")
    run_study(folder / "study.toml")
    assert {name: text for name, text in after.items() if not name.endswith(".part")} == results(folder)


def test_an_incomplete_result_after_ctrl_c_is_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @functools.wraps(correlate)
    def half(scores: Any, measures: Any = None, **settings: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:  # as resampling does, which then returns an incomplete result
            return correlate(scores, measures, **{**settings, "resamples": 5})

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("cranfield.meta.correlate", half)
    with pytest.raises(KeyboardInterrupt):
        run_study(folder / "study.toml")
    assert signal.getsignal(signal.SIGINT) is handler
    monkeypatch.undo()
    assert states(run_study(folder / "study.toml"))["correlate"] == "computed"


def test_an_entry_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "c"))
    assert cache.get("abc") is None
    cache.put("abc", b"line\nline")
    assert cache.get("abc") == b"line\nline"


def test_tables_survive_the_cache_exactly() -> None:
    estimate = Estimate("AP", "a", 0.1, math.nan, math.inf, 3, 0, 1)
    table = Table(
        (Column("run"), Column("x", "number", "higher"), Column("n", "count")),
        (("a\udcff", estimate, 3), ("b", -math.inf, None), ("c", 0.1 + 0.2, 0)),
        "caption", ("note",), 3,
    )  # fmt: skip
    again = table_from_plain(json.loads(json.dumps(table_to_plain(table))))
    assert again.render("json") == table.render("json")
    assert again.render("text") == table.render("text")
    assert (again.columns, again.digits, again.notes) == (table.columns, table.digits, table.notes)


# -- the file


def test_toml_yaml_and_json_give_the_same_study(folder: Path) -> None:
    import yaml

    held = tomllib.loads(STUDY)
    (folder / "study.yaml").write_text(yaml.safe_dump(held))
    (folder / "study.json").write_text(json.dumps(held))
    plans = [read_study(folder / f"study.{suffix}") for suffix in ("toml", "yaml", "json")]
    assert plans[0].collections == plans[1].collections == plans[2].collections
    assert plans[0].tasks == plans[1].tasks == plans[2].tasks
    assert plans[0].tasks[0].options == {"resamples": 20, "seed": 1}  # the seed of the study
    assert plans[0].collections[0].qrels == str(folder / "qrels.txt")  # relative to the file


def test_the_example_is_a_study() -> None:
    plan = plan_of(tomllib.loads(EXAMPLE), "study.toml")
    assert [task.method.name for task in plan.tasks] == ["correlate", "concord", "loo", "compare"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("measures", "mesures", "study.toml: in the study: no key 'mesures'; did you mean 'measures'?"),
        ("qrels =", "qrel =", "in collections.tiny: no key 'qrel'; did you mean 'qrels'?"),
        ("resamples", "resample", "in methods.correlate: no key 'resample'; did you mean 'resamples'?"),
        ("[methods.gtheory]", "[methods.gtheorie]", "methods.gtheorie: no method 'gtheorie'; did you mean 'gtheory'?"),
        ('method = "compare"', 'method = "compar"', "methods.tukey: no method 'compar'; did you mean 'compare'?"),
        ('"P@5"', '"PP@5"', "methods.correlate: there is no measure 'PP'"),
        ('runs = ["*.run"]', "", "collections.tiny must have qrels and runs, or scores"),
        ('runs = ["*.run"]', 'runs = ["*.run"]\nscores = "s"', "collections.tiny must have qrels and runs, or scores"),
        ('runs = ["*.run"]', "runs = 3", "collections.tiny.runs == 3, must be a list of texts"),
        ('runs = ["*.run"]', 'runs = ["-"]', "cannot read standard input"),
        ('runs = ["*.run"]', 'runs = ["*.run"]\norder = "best"', "order == 'best'"),
        ('runs = ["*.run"]', 'runs = ["*.run"]\nmissing = "no"', "collections.tiny: missing == 'no'"),
        ("resamples = 20", 'resamples = "many"', "methods.correlate.resamples == 'many', must be a whole number"),
        ("resamples = 20", 'collections = ["tini"]', "no collection 'tini'; did you mean 'tiny'?"),
        ("[methods.gtheory]", '[methods."../x"]', "methods.../x: the name is used for files"),
        ("[methods.gtheory]", "[methods.concord]", "methods.concord: gold must be given"),
        ("seed = 1", 'report = "r.pdf"', "report == 'r.pdf', must be a file name that ends in .md or .html"),
        ("seed = 1", "seed == 1", "study.toml:3: not valid TOML"),
        ('measures = ["AP", "P@5"]', "", "methods.correlate: no measures"),
    ],
)
def test_errors_name_the_problem_of_a_study(folder: Path, old: str, new: str, says: str) -> None:
    edit(folder, old, new)
    with pytest.raises((UsageError, DataError), match=says.replace("?", r"\?").replace("../x", r"\.\./x")):
        read_study(folder / "study.toml")


def test_leave_one_out_needs_runs_and_not_only_scores(folder: Path) -> None:
    held = {"measures": ["AP"], "collections": {"s": {"scores": "s.csv"}}, "methods": {"loo": {}}}
    with pytest.raises(UsageError, match="loo works on runs and qrels, s has only scores"):
        plan_of(held)


@pytest.mark.parametrize("held", [None, [], {"methods": 3}, {"methods": {}}, {"methods": {"correlate": {}}}])
def test_content_that_is_not_a_study_is_refused(held: Any) -> None:
    with pytest.raises(UsageError, match=r"must be a table|no methods|no collection"):
        plan_of(held)


@pytest.mark.parametrize(("gone", "says"), [("qrels.txt", "no such file"), ("*.run", "no file matches this pattern")])
def test_missing_files_fail_their_steps(folder: Path, gone: str, says: str) -> None:
    for path in folder.glob(gone):
        path.unlink()
    outcome = run_study(folder / "study.toml")
    assert set(states(outcome).values()) == {"failed"}
    assert outcome.failed[0].error.endswith(f"{gone}: {says}")


def test_long_tables_are_cut_in_the_report_but_not_in_their_files(folder: Path) -> None:
    with (folder / "study.toml").open("a") as file:
        file.write("[methods.swap]\nresamples = 10\nbins = 60\n")
    run_study(folder / "study.toml")
    # Two measures, 60 bins each; a page shows 50 rows.
    assert len((folder / "study-results" / "tiny" / "swap-curves.csv").read_text().splitlines()) == 121
    assert (
        "the first 50 of 120 rows; all are in tiny/swap-curves.csv"
        in (folder / "study-results" / "report.md").read_text()
    )
