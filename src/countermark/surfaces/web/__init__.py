"""The web surface of scenes: pages, assets and calls over loopback HTTP."""
