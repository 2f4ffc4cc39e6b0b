"""How surely a measure tells systems apart."""
