"""`python -m bench.run [PART ...]`: run cranfield and other tools on the same files.

Contestants take turns, each in its own process. The time goes from opening the files to the means, without the start of
the interpreter, imports and the compilation of ranx; the column `with imports` includes the last two, and the
preparation of data in memory. The best time and the highest peak memory of the repeats count. Tools that are not
installed are left out. The exit code is 1 if a target is missed, a contestant fails, contestants disagree, or cranfield
is not installed.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.contest import HERE, PATIENCE, Part, quotient
from bench.parts import PARTS


def show(name: str, part: Part) -> None:
    """Print the results as a Markdown table, and the targets."""
    ours = next(iter(part.rows.values())).get("seconds")
    table = [["", "seconds", "ratio", "with imports", "peak MB", "repeats"]]
    notes = []
    for label, row in part.rows.items():
        if "seconds" not in row:
            notes.append(f"{label}: {row.get('missing') or row['broken']}")
            continue
        times = quotient(row["seconds"], ours)
        cells = [f"{row['seconds']:.3f}", "" if times is None else f"{times:.2f}"]
        cells += [f"{row['with_imports']:.2f}" if "with_imports" in row else ""]
        cells += [f"{row['peak'] / 1e6:.0f}" if "peak" in row else "", str(row.get("repeats", ""))]
        table.append([label, *cells])
        notes += [f"{label}: {measure} differs by {gap:.2g}" for measure, gap in row.get("disagrees", {}).items()]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    table.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    print(f"\n{name}: {part.title}\n")
    for label, *cells in table:
        print("|", " | ".join([label.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]), "|")
    print()
    for target in part.targets:
        value = "not measured" if target.value is None else f"{target.value:.2f}"
        limit = f"at least {target.at_least}" if target.at_least is not None else f"at most {target.at_most}"
        verdict = {True: "pass", False: "FAIL", None: "-"}[target.met]
        print(f"{verdict:4}  {value}  {target.what} ({limit})")
    for note in notes:
        print(f"note  {note}")


def failed(part: Part) -> bool:
    ours, *_ = part.rows.values()
    faulty = any(row.get("disagrees") or row.get("broken") for row in part.rows.values())
    return faulty or "seconds" not in ours or any(target.met is False for target in part.targets)


def record(part: Part) -> dict[str, Any]:
    rows = {label: {key: value for key, value in row.items() if key != "means"} for label, row in part.rows.items()}
    targets = [{**target._asdict(), "met": target.met} for target in part.targets]
    return {"title": part.title, "machine": machine(), "rows": rows, "targets": targets}


def machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    versions: dict[str, str | None] = {}
    for package in ("cranfield", "numpy", "pytrec_eval-terrier", "pyndeval", "ir_measures", "ranx"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.date.today().isoformat(),
        "processor": models[0].split(":")[1].strip() if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--data", type=Path, default=HERE / ".data", help="folder of the data files (1 GB)")
    parser.add_argument("--repeats", type=int, default=5, help=f"repeats; fewer after {PATIENCE} seconds (default: 5)")
    options = parser.parse_args()
    names = options.parts or list(PARTS)
    if unknown := set(names) - set(PARTS):
        parser.error(f"part == {unknown.pop()!r}, must be one of {', '.join(PARTS)}")
    if options.repeats < 1:
        parser.error(f"--repeats == {options.repeats}, must be at least 1")

    folder = options.data.resolve()
    # In another process: a forked process inherits the memory of its parent, so this one must stay small.
    subprocess.run([sys.executable, "-m", "bench.data", str(folder), *names], check=True, cwd=HERE.parent)
    results_file = HERE / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    status = 0
    for name in names:
        part = PARTS[name](folder, options.repeats)
        show(name, part)
        results[name] = record(part)
        results_file.write_text(json.dumps(results, indent=1) + "\n")
        status |= failed(part)
    return status


if __name__ == "__main__":
    sys.exit(main())
