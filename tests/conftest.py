"""Settings for all tests."""

import pytest
from hypothesis import settings

from tests.engine_fixtures import duck as duck
from tests.engine_fixtures import spark as spark

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
