"""The databases of the tests of judging, for campaigns too."""

from tests.building.serve.conftest import postgres_url, where

__all__ = ["postgres_url", "where"]
