"""The MCP surface: the tools of installed domains, generated from their `tools.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def serve(folder: Path, *, toolsets: Sequence[str], grant: str | None = None) -> None:
    """Serve over standard input and output until the client closes it (see `server.run`)."""
    from countermark.surfaces.mcp import server  # noqa: PLC0415 - brings the protocol library

    server.run(folder, toolsets=toolsets, grant=grant)
