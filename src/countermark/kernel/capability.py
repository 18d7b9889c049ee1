"""What a child says it can do, read once into frozen types, with a digest that shows drift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from countermark.kernel.canon import digest
from countermark.kernel.errors import CountermarkError


@dataclass(frozen=True, slots=True)
class Server:
    """Who answered the handshake: name and version as the child gives them, which proves nothing by itself."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as the child declares it; `declaration` is its whole object."""

    name: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    declaration: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capability snapshot: every tool by name, and the digest of protocol, server and all declarations.

    Another digest than the one a task was planned with is `capability_schema_mismatch` before any effect.
    """

    protocol: str
    server: Server
    tools: Mapping[str, Tool]
    digest: str


def missing(what: str) -> CountermarkError:
    """Return the error for a child that cannot do what we need of it."""
    return CountermarkError(
        "capability_missing",
        f"The child cannot be used: {what}.",
        next_action="Install the version of the engine that this version of Countermark was made for.",
    )


def read_server(result: Any, protocol: str) -> Server:
    """Read the answer to `initialize`; raise `capability_missing` for another protocol or a child without tools."""
    if not isinstance(result, dict) or result.get("protocolVersion") != protocol:
        message = f"it does not speak MCP {protocol}"
        raise missing(message)
    offered, info = result.get("capabilities"), result.get("serverInfo")
    if not isinstance(offered, dict) or not isinstance(offered.get("tools"), dict):
        raise missing("it offers no tools")
    if not isinstance(info, dict) or not all(isinstance(info.get(part), str) for part in ("name", "version")):
        raise missing("it does not say its name and version")
    return Server(info["name"], info["version"])


def read_page(result: Any) -> tuple[list[Tool], str | None]:
    """Read one page of `tools/list` and the cursor of the next; raise `capability_missing` where it is malformed."""
    if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
        raise missing("its list of tools is malformed")
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise missing("its list of tools continues at no text")
    return [_read_tool(value) for value in result["tools"]], cursor


def snapshot(protocol: str, server: Server, tools: Iterable[Tool]) -> Capabilities:
    """Put the pages together; raise `capability_missing` for a name that stands twice."""
    named: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in named:
            message = f"its tool {tool.name!r} stands twice"
            raise missing(message)
        named[tool.name] = tool
    said = {
        "protocol": protocol,
        "server": [server.name, server.version],
        "tools": [dict(named[name].declaration) for name in sorted(named)],
    }
    try:
        return Capabilities(protocol, server, named, digest(said))
    except CountermarkError as error:
        raise missing("a schema of its tools has no canonical form") from error


def _read_tool(value: Any) -> Tool:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise missing("a tool has no name")
    schema, output = value.get("inputSchema"), value.get("outputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        message = f"its tool {value['name']!r} declares no object as input"
        raise missing(message)
    if output is not None and not isinstance(output, dict):
        message = f"its tool {value['name']!r} declares a malformed output"
        raise missing(message)
    return Tool(value["name"], schema, output, value)
