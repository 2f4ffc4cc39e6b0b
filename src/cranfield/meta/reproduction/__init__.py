"""Is one experiment a reproduction of another?"""
