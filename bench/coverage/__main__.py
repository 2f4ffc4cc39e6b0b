"""`python -m bench.coverage [PART ...]`: do intervals cover and levels hold, at the defaults, on data like people's?

Every case is a procedure on one kind of data of one size, with a known truth. The table has its nominal rate of errors,
the measured one with its Monte Carlo error, the share of refusals, and a verdict: `holds`, `wide` (at most a quarter of
the nominal rate), `says so` (wrong more often, and a caution says so), `refuses` (there is no figure), `MISSES`. The
exit code is 1 if a case misses. `--save` keeps the findings for the page of the documentation; `--trials` and `--only`
make a run shorter.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from bench.coverage import results
from bench.coverage.case import Case, Finding, measure
from bench.coverage.parts import PARTS, cases_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.coverage", description=__doc__.split("\n\n")[0])
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--trials", type=int, help="data sets for each case, instead of its own number")
    parser.add_argument("--only", default="", metavar="WORD", help="cases with this word in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (all processors)")
    parser.add_argument("--save", action="store_true", help="keep the findings in bench/coverage/results.json")
    options = parser.parse_args()
    missed = False
    for part in options.part or PARTS:
        chosen = [place for place, case in enumerate(cases_of(part)) if options.only.lower() in case.name.lower()]
        if not chosen:
            continue
        print(f"\n{part}\n", flush=True)
        rows = []
        with ProcessPoolExecutor(options.jobs) as pool:
            found = pool.map(run, repeat(part), chosen, repeat(options.trials))
            for place, (finding, seconds) in zip(chosen, found, strict=True):
                case = cases_of(part)[place]
                print(line(case, finding, seconds), flush=True)
                missed |= finding.verdict == "MISSES"
                rows.append((case, finding))
        if options.save:
            results.keep(part, rows)
    return int(missed)


def run(part: str, place: int, trials: int | None) -> tuple[Finding, float]:
    started = time.perf_counter()
    return measure(cases_of(part)[place], trials), time.perf_counter() - started


def line(case: Case, finding: Finding, seconds: float) -> str:
    rate = f"{100 * finding.rate:5.1f} ± {100 * finding.error:.1f} %" if finding.figures else "           -"
    return (
        f"{finding.verdict:8} {100 * case.wrong:4.1f} → {rate}  refused {100 * finding.said:3.0f} %  "
        f"{case.name}  ({finding.trials} data sets, {seconds:.0f} s)"
    )


if __name__ == "__main__":
    sys.exit(main())
