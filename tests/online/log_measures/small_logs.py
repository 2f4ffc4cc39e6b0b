"""A small random log as rows of Python, and the same log on an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow

MINUTE = 60_000_000
START = 1_700_000_000_000_000  # 2023-11-14T22:13:20Z
WORDS = ("red", "blue", "shoes", "hat", "cheap", "warm")

Row = dict[str, Any]


@dataclass
class Rows:
    """Queries, documents shown and events, as rows."""

    queries: list[Row]
    shown: list[Row]
    events: list[Row]


def random_rows(seed: int = 0, users: int = 30, *, sessions: bool = False) -> Rows:
    """A log with everything that measures must cope with: no clicks, repeated clicks, events without a query,
    clicks without a rank or a dwell time, equal times, texts that are missing, users in two segments."""
    rng = np.random.default_rng(seed)
    rows = Rows([], [], [])
    number = 0
    for u in range(users):
        user, arm = f"u{u:03}", "AB"[u % 2]
        time = START + int(rng.integers(0, 3 * 1440)) * MINUTE
        for q in range(int(rng.integers(1, 9))):
            pause = rng.choice([0, 1, 5, 29, 30, 31, 200, 1500])
            time += int(pause) * MINUTE + int(rng.integers(0, 2)) * 17
            number += 1
            query = f"q{number:05}"
            text = " ".join(rng.choice(WORDS, int(rng.integers(1, 4)))) if rng.random() < 0.9 else None
            if text and rng.random() < 0.2:
                text = f" {text.upper()}  "
            rows.queries.append(
                {
                    "query_id": query,
                    "user": user,
                    "session": f"{user}-{q // 3}" if sessions else None,
                    "time": time,
                    "text": text,
                    "arm": arm,
                    "device": str(rng.choice(["phone", "desk"])) if rng.random() < 0.9 else None,
                }
            )
            depth = int(rng.choice([0, 3, 5, 8]))
            for position in range(1, depth + 1):
                doc = f"d{int(rng.integers(0, 12)) * 10 + position}"
                rows.shown.append({"query_id": query, "position": position, "doc": doc, "propensity": None})
            docs = [row for row in rows.shown if row["query_id"] == query]
            at = time
            for _ in range(int(rng.choice([0, 0, 1, 2, 4])) if docs else 0):
                at += int(rng.choice([0, 3_000_000, 40_000_000, 35 * MINUTE], p=[0.2, 0.5, 0.25, 0.05]))
                row = docs[int(rng.integers(0, len(docs)))]
                action = str(rng.choice(["click", "hover", "conversion", "share"], p=[0.6, 0.2, 0.15, 0.05]))
                rows.events.append(
                    {
                        "query_id": query,
                        "user": user,
                        "session": f"{user}-{q // 3}" if sessions else None,
                        "time": at,
                        "action": action,
                        "doc": row["doc"],
                        "position": row["position"] if rng.random() < 0.9 else None,
                        "value": float(rng.integers(1, 50)) if action == "conversion" and rng.random() < 0.8 else None,
                        "dwell": float(rng.integers(1, 90)) if action == "click" and rng.random() < 0.8 else None,
                    }
                )
            if rng.random() < 0.1:
                rows.events.append(
                    {
                        **dict.fromkeys(("query_id", "doc", "position", "dwell")),
                        "user": user,
                        "session": f"{user}-{q // 3}" if sessions else None,
                        "time": at + 5_000_000,
                        "action": "conversion",
                        "value": 7.0,
                    }
                )
            time = max(time, at if rng.random() < 0.5 else time)
    return rows


TEXT, WHOLE, NUMBER = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
SCHEMAS = {
    "queries": {
        "query_id": TEXT, "user": TEXT, "session": TEXT, "time": WHOLE, "text": TEXT, "arm": TEXT, "device": TEXT,
    },
    "shown": {"query_id": TEXT, "position": WHOLE, "doc": TEXT, "propensity": NUMBER},
    "events": {
        "query_id": TEXT, "user": TEXT, "session": TEXT, "time": WHOLE, "action": TEXT, "doc": TEXT, "position": WHOLE,
        "value": NUMBER, "dwell": NUMBER,
    },
}  # fmt: skip


def log_of(rows: Rows, engine: Any) -> Any:
    """The rows as a log on an engine."""
    from cranfield.online.logs.log import Log

    frames = {
        name: engine.read(pyarrow.Table.from_pylist(getattr(rows, name), pyarrow.schema(list(schema.items()))))
        for name, schema in SCHEMAS.items()
    }
    return Log(engine, **frames, segments=("device",))
