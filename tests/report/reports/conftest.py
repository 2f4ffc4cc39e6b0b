"""The command line and the sample collection, as the tests of verbs use them."""

from tests.cli.conftest import collection, cranfield

__all__ = ["collection", "cranfield"]
