"""Ready-made sets of measures: PULSE, HEART and PIRATE, with what a log can say about each part."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield import check


@dataclass(frozen=True)
class Part:
    """A part of a set: the measures for it, or why a log does not have it."""

    name: str
    measures: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class MetricSet:
    """A set of measures."""

    name: str
    parts: tuple[Part, ...]
    source: str

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.measures))

    def parts_of(self, measure: str) -> str:
        """The parts that a measure stands for."""
        return ", ".join(part.name for part in self.parts if measure in part.measures)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a log cannot say."""
        return tuple(f"{self.name}: {part.name}: {part.missing}" for part in self.parts if part.missing)


SETS = {
    "pulse": MetricSet(
        "PULSE",
        (
            Part("Page views", ("page-views",)),
            Part("Uptime", (), "not in a log of queries and events; the monitoring of the service has it"),
            Part("Latency", (), "not in a log of queries and events; the monitoring of the service has it"),
            Part("Seven-day active users", ("active-users",)),
            Part("Earnings", ("revenue",)),
        ),
        "Ferro & Maistro 2024, §6.5; Rodden, Hutchinson & Fu, CHI 2010, doi:10.1145/1753326.1753687",
    ),
    "heart": MetricSet(
        "HEART",
        (
            Part("Happiness", (), "users have to be asked; with some answers, log satisfaction predicts the others"),
            Part("Engagement", ("sessions-per-day", "queries-per-day")),
            Part("Adoption", ("adoption",)),
            Part("Retention", ("retention",)),
            Part("Task success", ("session-success",)),
        ),
        "Ferro & Maistro 2024, §6.5; Rodden, Hutchinson & Fu, CHI 2010, doi:10.1145/1753326.1753687",
    ),
    "pirate": MetricSet(
        "PIRATE",
        (
            Part("Acquisition", ("adoption",), "a log says how many users are new, but not where they come from"),
            Part("Activation", ("activation",)),
            Part("Retention", ("retention",)),
            Part("Referral", ("referral",)),
            Part("Revenue", ("conversion", "revenue")),
        ),
        "Ferro & Maistro 2024, §6.5; McClure, Startup Metrics for Pirates, 2007",
    ),
}
"""The sets by name."""


def metric_set(name: str) -> MetricSet:
    """The set of a name.

    >>> metric_set("pulse").measures
    ('page-views', 'active-users', 'revenue')
    """
    if name.casefold() not in SETS:
        raise check.nearest(name, tuple(SETS), "set of measures")
    return SETS[name.casefold()]
