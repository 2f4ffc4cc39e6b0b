"""Run the tests as other machines would: other instruction sets, and the oldest and newest versions of the dependencies.

    python tools/check_machines.py                                # every configuration, the whole suite
    python tools/check_machines.py --list                         # the names of the configurations
    python tools/check_machines.py --only oldest newest-Haswell   # some configurations
    python tools/check_machines.py -- tests/comparison -k tukey   # arguments for pytest come after --

Prints one line per configuration, and below it the tests that failed. The full output is in build/machines/NAME.log.
The instruction sets are those that this machine can also run: OpenBLAS picks its kernels by OPENBLAS_CORETYPE, and
numpy leaves out its own loops for the features in NPY_DISABLE_CPU_FEATURES.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "machines"

CORE_TYPES = {
    # OpenBLAS kernels: flags that /proc/cpuinfo must list to run them
    "Nehalem": {"sse4_2"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
}

DISPATCHED = """
import json, numpy
core = getattr(numpy, "_core", None) or numpy.core
features = core._multiarray_umath
print(json.dumps([name for name in features.__cpu_dispatch__ if features.__cpu_features__.get(name)]))
"""  # the feature groups for which numpy has loops of its own and which this machine has, from old to new


@dataclass(frozen=True)
class Configuration:
    versions: str  # "newest" or "oldest"
    instructions: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    skip: str = ""  # why this machine cannot run it

    @property
    def name(self) -> str:
        return f"{self.versions}-{self.instructions}" if self.instructions else self.versions


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if finished.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command)}\n{finished.stdout}{finished.stderr}")
    return finished


def python_of(versions: str) -> Path:
    return WORK / versions / ("Scripts" if os.name == "nt" else "bin") / "python"


def source_hash() -> str:
    digest = hashlib.sha256()
    files = [ROOT / "CMakeLists.txt", ROOT / "pyproject.toml"]
    files += [path for path in (ROOT / "src").rglob("*") if path.suffix in {".py", ".cpp", ".hpp"} or "samples" in path.parts]
    for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def install(all_versions: list[str]) -> None:
    """Create the virtual environments, or bring them up to date. The wheel is built once for all of them."""
    tools = python_of("tools")
    if not tools.exists():
        run(sys.executable, "-m", "venv", WORK / "tools")
        run(tools, "-m", "pip", "install", "--quiet", "uv")
    uv = [tools, "-m", "uv"]
    stamp, wheels = WORK / "wheel.json", WORK / "wheel"
    sources = source_hash()
    if not stamp.exists() or json.loads(stamp.read_text("utf-8")) != sources:
        for old in wheels.glob("*.whl"):
            old.unlink()
        run(*uv, "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", wheels, ROOT)
        stamp.write_text(json.dumps(sources), "utf-8")
    (wheel,) = wheels.glob("*.whl")
    for versions in all_versions:
        pins = WORK / f"{versions}.txt"
        rule = "lowest-direct" if versions == "oldest" else "highest"
        lowest_python = f"{sys.version_info.major}.{sys.version_info.minor}"
        run(*uv, "pip", "compile", "--quiet", "--python-version", lowest_python, "--resolution", rule, "--upgrade",
            ROOT / "pyproject.toml", "--extra", "dev", "--output-file", pins)  # fmt: skip
        if not python_of(versions).exists():
            run(sys.executable, "-m", "venv", "--without-pip", WORK / versions)
        run(*uv, "pip", "sync", "--quiet", "--python", python_of(versions), pins)
        run(*uv, "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", python_of(versions), wheel)


def cpu_flags() -> set[str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def configurations() -> list[Configuration]:
    """All configurations; `numpy_features` fills in the environment of the last two of each kind of versions."""
    flags = cpu_flags()
    found = []
    for versions in ("newest", "oldest"):
        found.append(Configuration(versions))
        for core_type, needed in CORE_TYPES.items():
            missing = sorted(needed - flags)
            skip = f"this machine lacks {', '.join(missing)}" if missing else ""
            found.append(Configuration(versions, core_type, {"OPENBLAS_CORETYPE": core_type}, skip))
        found.append(Configuration(versions, "numpy-middle"))
        found.append(Configuration(versions, "numpy-lowest"))
    return found


def numpy_environment(configuration: Configuration) -> dict[str, str]:
    """Switch off all of numpy's dispatched features (`numpy-lowest`), or all but the lowest (`numpy-middle`)."""
    features = json.loads(run(python_of(configuration.versions), "-c", DISPATCHED).stdout)
    if configuration.instructions == "numpy-middle":
        features = [name for name in features if name.startswith(("AVX512", "X86_V4"))]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}


def test(configuration: Configuration, arguments: list[str]) -> bool:
    """Run pytest in one configuration and print the result; True if every test passed."""
    environment = dict(configuration.environment)
    if configuration.instructions.startswith("numpy"):
        environment = numpy_environment(configuration)
    report, log = WORK / f"{configuration.name}.xml", WORK / f"{configuration.name}.log"
    report.unlink(missing_ok=True)
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        status = subprocess.run(
            [python_of(configuration.versions), "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments],
            cwd=ROOT,
            env={**os.environ, **environment, "PYTHONPATH": ""},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    seconds = time.monotonic() - started
    settings = " ".join(f"{name}={value!r}" for name, value in environment.items())
    if not report.exists():
        print(f"{configuration.name:<22} pytest ended with {status}, see {log.relative_to(ROOT)}  {settings}", flush=True)
        return False
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None or case.find("error") is not None]
    skipped = int(suite.get("skipped", 0))
    passed = int(suite.get("tests", 0)) - len(failed) - skipped
    print(f"{configuration.name:<22} {passed} passed, {len(failed)} failed, {skipped} skipped, {seconds:.0f} s  {settings}", flush=True)
    for case in failed:
        print(f"    {case.get('classname')}::{case.get('name')}", flush=True)
    return status == 0


def main() -> None:
    every = configurations()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in every], metavar="NAME", help="configurations to run")
    parser.add_argument("--list", action="store_true", help="print the names of the configurations and stop")
    parser.add_argument("--no-install", action="store_true", help="use the environments as they are")
    parser.add_argument("arguments", nargs="*", metavar="-- PYTEST", help="arguments for pytest")
    options = parser.parse_args()
    chosen = [one for one in every if not options.only or one.name in options.only]
    if options.list:
        for one in chosen:
            print(one.name + (f"  (skipped: {one.skip})" if one.skip else ""))
        return
    WORK.mkdir(parents=True, exist_ok=True)
    if not options.no_install:
        install(sorted({one.versions for one in chosen}))
    results = []
    for one in chosen:
        if one.skip:
            print(f"{one.name:<22} skipped: {one.skip}", flush=True)
        else:
            results.append(test(one, options.arguments))
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
