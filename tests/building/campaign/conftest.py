"""The databases of the tests of judging, for campaigns too."""

from tests.building.serve.conftest import postgres, quick_passwords, where

__all__ = ["postgres", "quick_passwords", "where"]
