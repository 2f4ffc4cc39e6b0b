"""The click models, one file per family. Importing this folder registers them, from the simplest to the richest."""

from cranfield.online.clicks.models.examination_models import (  # isort: skip
    DocumentRate,
    PositionBased,
    RandomClicks,
    RankRate,
    UserBrowsing,
)
from cranfield.online.clicks.models.cascade_models import (  # isort: skip
    Cascade,
    ClickChain,
    DependentClick,
    DynamicBayesian,
    SimplifiedBayesian,
)

__all__ = [
    "Cascade", "ClickChain", "DependentClick", "DocumentRate", "DynamicBayesian", "PositionBased", "RandomClicks",
    "RankRate", "SimplifiedBayesian", "UserBrowsing",
]  # fmt: skip
