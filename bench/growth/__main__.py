"""`python -m bench.growth [VERB ...]`: how time and memory of every verb grow with its input.

The exit code is 1 if a limit is missed, if a verb fails, or if a verb has no entry.
"""

import argparse
import json
import math
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from bench.growth.measuring import Case, Growth, Measuring
from bench.growth.verbs import ENTRIES, every_verb


def row(growth: Growth) -> dict[str, Any]:
    """A line of the table, as plain data."""
    case = growth.case
    facts: dict[str, Any] = {"verb": growth.verb, "dimension": case.dimension}
    if growth.uses and not growth.fault:
        last = growth.uses[-1]
        facts |= {"size": last.size, "bytes": last.bytes, "start": growth.uses[0].seconds, "seconds": growth.net}
        facts |= {"exponent": growth.exponent, "peak": last.peak, "memory": growth.memory}
        facts["measured"] = [use._asdict() for use in growth.uses]
    return {**facts, "limits": {"time": case.time, "memory": case.memory}, "why": case.why, "missed": growth.missed}


HEAD = f"{'verb':21} {'grows in':12} {'to':>9} {'MB':>6} {'start s':>7} {'more s':>6} {'power':>6} {'limit':>5} "
HEAD += f"{'peak MB':>7} {'× input':>7} {'limit':>5}"


def line(growth: Growth) -> str:
    """A line of the table, as text."""
    case = growth.case
    lead = f"{growth.verb:21} {case.dimension:12}"
    if growth.fault:
        return f"{lead} FAIL {growth.fault}"
    last = growth.uses[-1]
    text = f"{lead} {last.size:>9,} {last.bytes / 1e6:>6.1f} {growth.uses[0].seconds:>7.2f} {growth.net:>6.2f} "
    text += f"{growth.exponent:>6.2f} {case.time:>5.2g} {last.peak / 1e6:>7.0f} "
    text += f"{growth.memory:>7.1f} {case.memory:>5.2g}" if math.isfinite(case.memory) else f"{'-':>7} {'-':>5}"
    return "  ".join([text, *(f"FAIL {words}" for words in growth.missed)])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verbs", nargs="*", metavar="VERB", help='verbs such as eval or "meta loo" (default: all)')
    parser.add_argument("--dimension", help="only this dimension")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--jobs", type=int, default=2, help="how many commands run at a time (default: 2)")
    options = parser.parse_args()
    if missing := [verb for verb in every_verb() if verb not in ENTRIES]:
        parser.error(f"no entry in bench/growth/verbs.py for: {', '.join(missing)}")
    if unknown := [verb for verb in options.verbs if verb not in ENTRIES]:
        parser.error(f"verb == {unknown[0]!r}, must be one of {', '.join(ENTRIES)}")
    jobs: list[tuple[str, Case]] = []
    for verb in options.verbs or ENTRIES:
        entry = ENTRIES[verb]
        if isinstance(entry, str):
            print(f"{verb:21} not measured: {entry}", file=sys.stderr if options.json else sys.stdout)
            continue
        jobs += [(verb, case) for case in entry if options.dimension in (None, case.dimension)]
    rows = []
    if not options.json:
        print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        places: SimpleQueue[Measuring] = SimpleQueue()
        hands = [Measuring(Path(folder) / str(number)) for number in range(max(1, options.jobs))]
        for hand in hands:
            places.put(hand)

        def measured(job: tuple[str, Case]) -> Growth:
            hand = places.get()
            try:
                return hand.growth(*job)
            finally:
                places.put(hand)

        with ThreadPoolExecutor(len(hands)) as pool:
            for growth in pool.map(measured, jobs):
                rows.append(row(growth))
                if not options.json:
                    print(line(growth), flush=True)
        for hand in hands:
            hand.close()
    missed = [one for one in rows if one["missed"]]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print(f"{len(rows)} measured, {len(missed)} miss a limit")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
