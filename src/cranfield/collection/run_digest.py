"""A digest of a ranking: equal for two runs with the same documents in the same order, whatever their names."""

from __future__ import annotations

import hashlib

from cranfield.collection.run import Run


def ranking_digest(run: Run, order: str = "score", ties: str = "z-a") -> str:
    """The SHA-256 digest of all lists of a run: topics, and documents in their order. Scores and tags do not matter.

    >>> first = Run.of({"1": {"a": 2.0, "b": 1.0}}, name="red")
    >>> ranking_digest(first) == ranking_digest(Run.of({"1": {"b": 0.1, "a": 0.7}}, name="blue"))
    True
    >>> ranking_digest(first) == ranking_digest(Run.of({"1": {"b": 0.7, "a": 0.1}}, name="red"))
    False
    """
    digest = hashlib.sha256()
    for topic in sorted(run.topics):
        docs = run.ordered_docs(topic, order, ties)
        text = "\0".join([topic, str(len(docs)), *docs])
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0\0")
    return digest.hexdigest()
