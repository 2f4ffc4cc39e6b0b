"""Run the tests as on other machines: other instruction sets, and the oldest and newest versions of the dependencies.

    python tools/check_machines.py                                # every configuration, the whole suite
    python tools/check_machines.py --list                         # the names of the configurations
    python tools/check_machines.py --only oldest newest-Haswell   # some configurations
    python tools/check_machines.py -- tests/comparison -k tukey   # arguments for pytest come after --

Prints one line per configuration, and below it the tests that failed. The full output is below build/machines/.
To check another version of Python, run the script with it; each has its own environments.
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
WORK = ROOT / "build" / "machines" / f"python{sys.version_info.major}.{sys.version_info.minor}"

CORE_TYPES = {
    "Nehalem": {"sse4_2"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
}
"""OpenBLAS kernels, and the flags that /proc/cpuinfo must list to run them."""

DISPATCHED = """
import json, numpy
core = getattr(numpy, "_core", None) or numpy.core
features = core._multiarray_umath
print(json.dumps([name for name in features.__cpu_dispatch__ if features.__cpu_features__.get(name)]))
"""
"""Prints the instruction sets of this machine for which numpy has loops of its own."""


@dataclass(frozen=True)
class Configuration:
    versions: str  # "newest" or "oldest"
    instructions: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    skip: str = ""  # why this machine cannot run it

    @property
    def name(self) -> str:
        return f"{self.versions}-{self.instructions}" if self.instructions else self.versions


def configurations() -> list[Configuration]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else []
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    available = []
    for versions in ("newest", "oldest"):
        available.append(Configuration(versions))
        for core_type, needed in CORE_TYPES.items():
            missing = sorted(needed - flags)
            skip = f"this machine lacks {', '.join(missing)}" if missing else ""
            available.append(Configuration(versions, core_type, {"OPENBLAS_CORETYPE": core_type}, skip))
        available.append(Configuration(versions, "numpy-avx2"))
        available.append(Configuration(versions, "numpy-baseline"))
    return available


def run(*command: str | Path) -> str:
    """Run a command that must succeed, and return its output."""
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{finished.stdout}{finished.stderr}")
    return finished.stdout


def python_of(environment: str) -> Path:
    return WORK / environment / ("Scripts" if os.name == "nt" else "bin") / "python"


def hash_of_sources() -> str:
    digest = hashlib.sha256()
    files = [ROOT / "CMakeLists.txt", ROOT / "pyproject.toml", *(ROOT / "src").rglob("*")]
    for path in sorted(path for path in files if path.is_file() and path.suffix not in {".so", ".pyd", ".pyc"}):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def install(all_versions: list[str]) -> None:
    """Create the virtual environments, or bring them up to date. The wheel is built once for all of them."""
    if not python_of("tools").exists():
        run(sys.executable, "-m", "venv", WORK / "tools")
        run(python_of("tools"), "-m", "pip", "install", "--quiet", "uv")
    uv = [python_of("tools"), "-m", "uv"]
    stamp, wheels, sources = WORK / "sources", WORK / "wheel", hash_of_sources()
    if not stamp.exists() or stamp.read_text("utf-8") != sources:
        for old in wheels.glob("*.whl"):
            old.unlink()
        run(*uv, "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", wheels, ROOT)
        stamp.write_text(sources, "utf-8")
    (wheel,) = wheels.glob("*.whl")
    for versions in all_versions:
        pins = WORK / f"{versions}.txt"
        rule = "lowest-direct" if versions == "oldest" else "highest"
        run(*uv, "pip", "compile", "--quiet", "--python", sys.executable, "--resolution", rule, "--upgrade",
            ROOT / "pyproject.toml", "--extra", "dev", "--output-file", pins)  # fmt: skip
        if not python_of(versions).exists():
            run(sys.executable, "-m", "venv", "--without-pip", WORK / versions)
        run(*uv, "pip", "sync", "--quiet", "--python", python_of(versions), pins)
        run(*uv, "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", python_of(versions), wheel)


def environment_of(configuration: Configuration) -> dict[str, str]:
    """The environment variables that choose the instruction sets."""
    if not configuration.instructions.startswith("numpy"):
        return configuration.environment
    features = json.loads(run(python_of(configuration.versions), "-c", DISPATCHED))
    if configuration.instructions == "numpy-avx2":
        features = [name for name in features if name.startswith(("AVX512", "X86_V4"))]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}


def show(configuration: Configuration, text: str) -> None:
    print(f"{configuration.name:<22} {text}".rstrip(), flush=True)


def test(configuration: Configuration, arguments: list[str]) -> bool:
    """Run pytest in one configuration and print the result; True if every test passed."""
    environment = environment_of(configuration)
    report, log = WORK / f"{configuration.name}.xml", WORK / f"{configuration.name}.log"
    report.unlink(missing_ok=True)
    started = time.monotonic()
    pytest = [python_of(configuration.versions), "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}"]
    with log.open("w", encoding="utf-8") as output:
        status = subprocess.run(
            [*pytest, *arguments],
            cwd=ROOT,
            env={**os.environ, **environment, "PYTHONPATH": ""},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    seconds = time.monotonic() - started
    settings = " ".join(f"{name}={value!r}" for name, value in environment.items())
    if not report.exists():
        show(configuration, f"pytest ended with status {status}, see {log.relative_to(ROOT)}  {settings}")
        return False
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    failed = [case for case in suite.iter("testcase") if {"failure", "error"} & {outcome.tag for outcome in case}]
    skipped = int(suite.get("skipped", 0))
    passed = int(suite.get("tests", 0)) - len(failed) - skipped
    show(configuration, f"{passed} passed, {len(failed)} failed, {skipped} skipped, {seconds:.0f} s  {settings}")
    for case in failed:
        print(f"    {case.get('classname')}::{case.get('name')}", flush=True)
    return status == 0


def main() -> None:
    available = configurations()
    names = [configuration.name for configuration in available]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="run these configurations")
    parser.add_argument("--list", action="store_true", help="print the names of the configurations and stop")
    parser.add_argument("--no-install", action="store_true", help="use the virtual environments as they are")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="arguments for pytest")
    options = parser.parse_args()
    chosen = [configuration for configuration in available if configuration.name in (options.only or names)]
    if options.list:
        for configuration in chosen:
            show(configuration, configuration.skip)
        return
    WORK.mkdir(parents=True, exist_ok=True)
    if not options.no_install:
        install(sorted({configuration.versions for configuration in chosen}))
    results = []
    for configuration in chosen:
        if configuration.skip:
            show(configuration, f"skipped: {configuration.skip}")
        else:
            results.append(test(configuration, options.arguments))
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
