"""The PostgreSQL server of the tests of judging, for campaigns too."""

from tests.building.serve.conftest import postgres_url

__all__ = ["postgres_url"]
