"""Settings for all tests."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.engine_fixtures import duck as duck
from tests.engine_fixtures import spark as spark

# nohup and the background of a script ignore these signals, and what ignores a signal passes that on to its children.
for number in (getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Imports and just-in-time compilation make first examples slow; timings live in bench/.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


# Collecting makes many objects that live until the end: looking through them for garbage takes a quarter of its time.
gc.disable()

LONG_GROUPS = ("spark", "site", "browser", "compiles", "postgres")
"""Groups of tests that take minutes, on one worker each, the longest first."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long groups and with the files about the whole project, so that no worker has one left at the end."""
    for item in items:
        if item.get_closest_marker("compiles"):
            item.add_marker(pytest.mark.xdist_group("compiles"))
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[int, bool]:
    group = item.get_closest_marker("xdist_group")
    return LONG_GROUPS.index(group.args[0]) if group else len(LONG_GROUPS), item.path.parent != Path(__file__).parent


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: tests wait for servers, browsers and other programs."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker the tests of a file together, which share fixtures, or those of a group of `xdist_group`."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFileOrGroup(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return super()._split_scope(nodeid).partition("::")[0]

    return ByFileOrGroup(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Forget measures that a test registered: other tests go through all of them."""
    known = set(_registered())
    try:
        return (yield)
    finally:
        for name in [name for name, kind in _registered().items() if not kind.__module__.startswith("cranfield.")]:
            if name not in known:
                del _registered()[name]


def _registered() -> dict[str, type]:
    """The measures, if they have been imported."""
    return getattr(sys.modules.get("cranfield.measures.base"), "REGISTRY", {})


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let go of what a test kept in Spark: every later query is compared with the plans of all kept frames."""
    engine = getattr(item, "funcargs", {}).get("spark")
    if engine is not None:
        engine.session.catalog.clearCache()
        engine._kept.clear()
