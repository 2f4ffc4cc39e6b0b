"""How each kind of figure is drawn: `draw(figure)` of the module named after the kind returns an altair chart."""
