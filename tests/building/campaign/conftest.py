"""The databases of the tests of judging, for campaigns too."""

from tests.building.serve.conftest import postgres, where

__all__ = ["postgres", "where"]
