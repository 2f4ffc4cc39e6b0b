"""`--as TEXT`: the defaults of a text in place of ours."""

from __future__ import annotations

from typing import Any

from cranfield.cli.declare import MORE, Verb, declared, option


class AsText(Verb):
    """Options and measures as a text has them."""

    as_text: str | None = option(
        "--as TEXT",
        "The test, its options, and the parameters of measures as a text has them, where ours differ and none is "
        "given: {names}; docs/defaults.md lists them.",
        names="papers.as_text:TEXTS",
        group=MORE,
    )

    def __init__(self, **values: Any) -> None:
        text = values.get("as_text")
        if text is not None:
            from cranfield.cli.options.option_values import measure_names
            from cranfield.papers.as_text import measure_as, options_as

            values = options_as(text, values, {parameter.name for parameter in declared(type(self))})
            for key in ("measures", "gold"):
                if values.get(key) and not values.get("scores"):  # files of scores have names of their own
                    names = measure_names(values[key])
                    values[key] = [name if ":" in name else measure_as(text, name) for name in names]
        super().__init__(**values)

    def usual_as(self, wanted: Any) -> Any:
        """The measures of a verb that were not given, as the text has them."""
        if self.as_text is None or getattr(self, "measures", None):
            return wanted
        from cranfield.measures import parse
        from cranfield.papers.as_text import measure_as

        return [parse(measure_as(self.as_text, str(measure))) for measure in wanted]
