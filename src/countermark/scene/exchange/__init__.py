"""Scenes from elsewhere: what other programs write becomes a scene, with a report of all that was done to it."""
