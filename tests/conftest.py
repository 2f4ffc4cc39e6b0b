"""Settings for all tests."""

import signal

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests marked `compiles` first and on one worker, while the other workers go on with the rest."""
    for item in items:
        if item.get_closest_marker("compiles"):
            item.add_marker(pytest.mark.xdist_group("compiles"))
    items.sort(key=lambda item: item.get_closest_marker("compiles") is None)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let go of what a test kept in Spark: every later query is compared with the plans of all kept frames."""
    engine = getattr(item, "funcargs", {}).get("spark")
    if engine is not None:
        engine.session.catalog.clearCache()
        engine._kept.clear()
