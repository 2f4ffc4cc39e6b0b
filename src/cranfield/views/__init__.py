"""Views: other readings of a list, on which any measure can be computed."""

from cranfield.views.parse_view import parse_view
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Condensed, Unjudged
from cranfield.views.view import View

__all__ = ["Condensed", "Ties", "Unjudged", "View", "parse_view"]
