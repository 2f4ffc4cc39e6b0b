"""Five texts on evaluation as studies that anybody can run: their steps, worked examples and errata."""

from cranfield.papers.worked import Erratum, Example, Text, errata, text_of, worked_examples

__all__ = ["Erratum", "Example", "Text", "errata", "text_of", "worked_examples"]
