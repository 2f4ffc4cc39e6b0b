"""The findings of the last full run, kept in a file for the page of the documentation."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.coverage.case import Case, Finding

FILE = Path(__file__).parent / "results.json"


def keep(part: str, rows: Iterable[tuple[Case, Finding]]) -> None:
    """Write the findings of a part into the file, and keep the other parts."""
    kept = load()
    kept[part] = [
        {"procedure": case.procedure, "data": case.data, "size": case.size, **dataclasses.asdict(finding)}
        for case, finding in rows
    ]
    FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load() -> dict[str, list[dict[str, Any]]]:
    kept: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return kept
