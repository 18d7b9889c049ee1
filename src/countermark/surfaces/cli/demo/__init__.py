"""`countermark demo`: the main job on a real logo, then the four moments, every line of it a command's own output."""

from countermark.surfaces.cli.demo.command import demo

__all__ = ["demo"]
