"""The documentation site: pages of docs/ and pages from the registries, put together by `tools/make_site.py`."""
