"""CONTRIBUTING.md is complete and true: its map has every folder, and its examples work."""

from __future__ import annotations

import math
import re
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scipy.stats import norm

import cranfield as cf
from cranfield import cli
from cranfield.cli.declare import operation_settings
from cranfield.cli.measure_page import Page, meaning
from cranfield.collection.file_formats import formats
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import DataError, UsageError
from cranfield.measures.base import REGISTRY
from cranfield.measures.ranked_lists import recall
from cranfield.meta.study.study_methods import Method
from cranfield.operations import _homes, schema
from cranfield.samples import sample
from cranfield.scores.scores import Scores

ROOT = Path(__file__).parent.parent
PACKAGE = Path(cf.__file__).parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
MAP = "\n".join(re.findall(r"^\| (`.*?) \|", GUIDE, re.MULTILINE))


def example(beginning: str) -> str:
    """The code block that begins with this text."""
    blocks = map(textwrap.dedent, re.findall(r"^ *```(?:python)?\n(.*?)^ *```$", GUIDE, re.DOTALL | re.M))
    (block,) = (block for block in blocks if block.startswith(beginning))
    return block


def test_the_map_has_every_folder_and_module_of_the_package() -> None:
    folders = [f"{path.parent.relative_to(PACKAGE)}/" for path in PACKAGE.rglob("*/__init__.py")]
    modules = [path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert not [name for name in (*folders, *modules) if f"`{name}`" not in MAP]


def test_the_map_has_nothing_that_does_not_exist() -> None:
    names = [name.strip("`") for name in re.findall(r"`[^`]*`", MAP)]
    assert not [name for name in names if not ((PACKAGE / name).exists() or (ROOT / name).exists())]


@contextmanager
def restored(entries: dict[str, Any]) -> Iterator[None]:
    """Remove what an example adds to a registry."""
    before = dict(entries)
    try:
        yield
    finally:
        entries.clear()
        entries.update(before)


def test_the_example_of_a_measure_scores_lists() -> None:
    with restored(REGISTRY):
        exec(example("@measure"), vars(recall).copy())
        # weights 1, 3/4, 1/2, 1/4
        assert cf.parse("Linear(depth=4)").of([1, 0, 1]) == pytest.approx(1 + 1 / 2)
        page = Page.of(REGISTRY["Linear"])
        assert all(meaning(*parameter) or parameter[0] in page.text for parameter in page.parameters.items())


def test_the_example_of_a_significance_test_compares_systems() -> None:
    assert len(TESTS) > 10  # all files of tests are loaded before, so that only the example is removed
    with restored(TESTS._entries), restored(TESTS._by_spelling):
        exec(example('"""The z test'), {})
        # differences 1, 2, 3: mean 2, standard error 1 / √3, z = 2√3; p by scipy.stats.norm.sf
        row = next(cf.compare({"a": [1.0, 3.0, 5.0], "b": [0.0, 1.0, 2.0]}, test="z").rows())
        assert row["p"] == pytest.approx(2 * norm.sf(2 * math.sqrt(3)))


def test_the_example_of_a_small_file_reads_and_checks(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("cost,docid\n3.5,d1\n4,d2\n")
    names: dict[str, Any] = {"source": str(path)}
    exec(example("from cranfield.collection.tables"), names)
    assert [list(names["rows"][name]) for name in ("doc", "price", "currency")] == [
        ["d1", "d2"],
        [3.5, 4],
        ["EUR", "EUR"],
    ]
    path.write_text("d1 3\nd2 -4\n")
    with pytest.raises(DataError, match=r"prices\.csv:2: document 'd2': the price is '-4', expected a number"):
        names["PRICES"].read(path)
    path.write_text("d1 3\nd1 4\n")
    with pytest.raises(DataError, match=r"prices\.csv:2: document 'd1' appears twice, first on line 1"):
        names["PRICES"].read(path)


def test_the_docs_list_every_format() -> None:
    page = (ROOT / "docs" / "collections.md").read_text("utf-8")
    assert not [name for name in {*formats.RUNS, *formats.QRELS, *formats.STRUCTURED} if f"`{name}`" not in page]


def test_the_example_of_a_format_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (layout,) = eval(f"(\n{example('Layout(')})", vars(formats))  # an entry of a list, with its comma
    monkeypatch.setitem(formats.RUNS, layout.name, layout)
    path = tmp_path / "short.txt"
    cf.Run.of({"q": {"d1": 2.0, "d2": 1.0}}).write(path, format="short")
    assert path.read_text().split() == ["q", "d1", "2.0", "q", "d2", "1.0"]
    assert cf.Run.read(path, format="short").to_dict() == {"q": {"d1": 2.0, "d2": 1.0}}
    assert formats.detect(b"q d1 1", "run").name == "msmarco"
    assert cli.main(["convert", sample().runs[0], str(path), "--to", "short"]) == 0
    assert cli.main(["eval", sample().qrels, str(path), "--run-format", "short"]) == 0


def test_the_example_of_a_verb_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("cranfield.cli.verbs.files.counts")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(example('"""`cranfield counts`'), vars(module))
    monkeypatch.setattr(cli, "VERBS", (*cli.VERBS, "counts"))
    monkeypatch.setitem(cli.SECTIONS, "Work with files", (*cli.SECTIONS["Work with files"], "counts"))
    path = tmp_path / "qrels.txt"
    path.write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
    assert cli.main(["counts", str(path), "--least", "2", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "topic,judgments\n1,2\n"


FUNCTION, SHARES = "cranfield.meta.stability.shares", "cranfield.cli.verbs.meta.shares"
SETTING = '    best: Annotated[int | None, about("Only the N best topics of a run count.", least=1)] = None,\n'


@pytest.fixture
def add_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Follow the recipe of an operation with this code of its function, up to operations.json."""

    def added(code: str) -> ModuleType:
        for name, text in ((FUNCTION, code), (SHARES, example('"""`cranfield meta shares`'))):
            module = ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            exec(text, vars(module))
        group = cli.GROUPS["meta"]
        monkeypatch.setitem(cli.GROUPS, "meta", group._replace(verbs=(*group.verbs, "shares")))
        listed = runpy.run_path(str(ROOT / "tools" / "make_operations.py"))["listed"]
        (tmp_path / "operations.json").write_text(listed(), "utf-8")
        monkeypatch.setattr("cranfield.declared.__file__", str(tmp_path / "__init__.py"))
        operation_settings.cache_clear()
        _homes.cache_clear()
        return sys.modules[FUNCTION]

    yield added
    operation_settings.cache_clear()
    _homes.cache_clear()


def test_the_example_of_an_operation_is_a_function_a_verb_a_schema_and_a_step(
    add_operation: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    module = add_operation(example('"""On how many topics'))
    files = [sample().qrels, *sample().runs[:2]]
    scores = cf.evaluate(files[0], files[1:], "P@10")
    shares = module.topic_shares(scores, limit=0.3)
    assert shares.share.tolist() == (scores.values[0] > 0.3).mean(axis=1).tolist()
    assert cli.main(["meta", "shares", *files, "-m", "P@10", "--limit", "0.3", "--format", "csv"]) == 0
    rows = [f"{run},{share}" for run, share in zip(shares.run, shares.share.tolist(), strict=True)]
    assert capsys.readouterr().out.splitlines() == ["run,share", *rows]
    assert cli.main(["meta", "shares", "--sample", "--limit", "2"]) == 2
    assert "--limit == 2.0, must be between 0 and 1" in capsys.readouterr().err
    assert schema("topic_shares")["input"]["properties"]["limit"]["maximum"] == 1
    assert list(Method("shares", "", "meta.stability.shares:topic_shares").settings) == ["limit"]


def test_a_setting_is_added_in_one_file(
    add_operation: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    code = example('"""On how many topics').replace("] = 0.5,\n", f"] = 0.5,\n{SETTING}")
    code = code.replace("from typing import Annotated\n", "from typing import Annotated\n\nimport numpy as np\n")
    module = add_operation(code.replace("scores.values[0]", "np.sort(scores.values[0])[:, -(best or 0) :]"))
    scores = Scores.from_matrix([[0.1, 0.6], [0.6, 0.6], [0.7, 0.1]], ["a", "b"], measure="AP")
    assert module.topic_shares(scores, best=2).share.tolist() == [1, 1]  # of 0.1, 0.6, 0.7 and of 0.1, 0.6, 0.6
    with pytest.raises(UsageError, match="topic_shares: best == 0, must be a whole number, 1 or more"):
        module.topic_shares(scores, best=0)
    assert cli.main(["meta", "shares", "--help"]) == 0
    assert "--best N" in (page := capsys.readouterr().out)
    assert "Only the N best topics of a run count." in page
    assert cli.main(["meta", "shares", "--sample", "--best", "0"]) == 2
    assert "--best == 0, must be a whole number, 1 or more" in capsys.readouterr().err
    assert schema("topic_shares")["input"]["properties"]["best"]["minimum"] == 1
    assert "best" in Method("shares", "", "meta.stability.shares:topic_shares").settings


def test_the_example_of_a_verb_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "counts.py"
    path.write_text(example('"""`cranfield counts`'))
    program = "import runpy, sys; runpy.run_path(sys.argv[1]); print({'numpy', 'rich', 'argparse'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
