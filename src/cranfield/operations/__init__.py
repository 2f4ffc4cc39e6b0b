"""Operations as calls with JSON: what a page or an agent can ask for, described by JSON Schema."""

from cranfield.operations.calls import call, known_operations, schema

__all__ = ["call", "known_operations", "schema"]
