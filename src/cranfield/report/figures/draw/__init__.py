"""How each kind of figure is drawn."""
