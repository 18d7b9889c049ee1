"""The command line: parses, opens, shows; it holds no rule of its own."""

from countermark.surfaces.cli.program import main

__all__ = ["main"]
