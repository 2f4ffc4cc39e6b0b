"""How each kind of figure is drawn: `draw_KIND(figure)` returns an altair chart."""
