"""The click models, one file per family. Importing this folder registers them, from the simplest to the richest."""

from cranfield.online.clicks.models.rate_models import DocumentRate, RandomClicks, RankRate  # isort: skip
from cranfield.online.clicks.models.examination_models import PositionBased  # isort: skip
from cranfield.online.clicks.models.cascade_models import Cascade  # isort: skip
from cranfield.online.clicks.models.cascade_models import DependentClick  # isort: skip
from cranfield.online.clicks.models.cascade_models import ClickChain  # isort: skip
from cranfield.online.clicks.models.cascade_models import DynamicBayesian, SimplifiedBayesian  # isort: skip
from cranfield.online.clicks.models.examination_models import UserBrowsing  # isort: skip

__all__ = [
    "Cascade", "ClickChain", "DependentClick", "DocumentRate", "DynamicBayesian", "PositionBased", "RandomClicks",
    "RankRate", "SimplifiedBayesian", "UserBrowsing",
]  # fmt: skip
