"""Significance tests, one file per family. A file registers its tests with `@pair_test`; see `registry`."""
