"""The findings of the last full run, kept in a file for the page of the documentation."""

from __future__ import annotations

import datetime
import inspect
import json
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.coverage.case import Case, Finding
from bench.coverage.parts import PARTS

FILE = Path(__file__).parent / "results.json"


def keep(part: str, rows: Iterable[tuple[Case, Finding]]) -> None:
    """Write the findings of a part into the file, and keep the other parts."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    kept[part] = {
        "title": PARTS[part],
        "about": inspect.getdoc(import_module(f"bench.coverage.{part}")),
        "date": datetime.date.today().isoformat(),
        "cases": [row(case, finding) for case, finding in rows],
    }
    ordered = {name: kept[name] for name in PARTS if name in kept}
    FILE.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def row(case: Case, finding: Finding) -> dict[str, Any]:
    return {
        "procedure": case.procedure,
        "data": case.data,
        "size": case.size,
        "nominal": case.wrong,
        "measured": round(finding.rate, 5) if finding.figures else None,
        "error": round(finding.error, 5),
        "refused": round(finding.said, 5),
        "trials": finding.trials,
        "verdict": finding.verdict,
    }
