"""What is declared once: names with parameters, settings, registries."""
