"""A verb without one of its optional packages says which extra to install, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.every_verb import prepare

HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from cranfield.cli import main
sys.exit(main(sys.argv[2:]))
"""
"""The command line in a Python in which some packages cannot be imported."""
NEEDED = {
    "eval qrels.txt a.run -m AP -o out.parquet": ("pyarrow", "frames"),
    "convert qrels.txt out.parquet": ("pyarrow", "frames"),
    "plot boxes -s scores.csv -m AP -o out.svg": ("altair", "plot"),
    "compare -s scores.csv -m AP -B 20 --plot out.svg": ("altair", "plot"),
    "report -s scores.csv -o out.html -B 20": ("jinja2", "plot"),
    "judge serve judgments.db": ("starlette", "serve"),
    "judge demo out.db": ("uvicorn", "serve"),
    "campaign serve campaign": ("jinja2", "serve"),
    "judge status postgresql://me@localhost/none": ("psycopg", "postgres"),
    "log measures log --least 1": ("duckdb", "logs"),
    "log check log": ("narwhals", "logs"),
    "ab analyse users.csv -m revenue": ("duckdb", "logs"),
    "log measures log --engine spark": ("pyspark", "spark"),
    "eval irds:vaswani a.run": ("ir_datasets", "datasets"),
}


@pytest.mark.parametrize("line", NEEDED)
def test_a_missing_package_is_named_once_with_its_extra(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    package, extra = NEEDED[line]
    done = subprocess.run(
        [sys.executable, "-c", HIDING, package, *line.split()], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.count(f"pip install 'cranfield[{extra}]'") == 1, done.stderr
    assert (done.stderr.count("pip install"), "Traceback" in done.stderr) == (1, False), done.stderr
