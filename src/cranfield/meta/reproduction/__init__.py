"""How well does one experiment reproduce another?"""
