"""Is a measure on an interval scale?"""
