"""Settings for all tests."""

from hypothesis import settings

# Imports and just-in-time compilation make first examples slow; timings live in bench/.
settings.register_profile("project", deadline=None)
settings.load_profile("project")
