"""What one line from a child says: pure reading and classification, no reading of pipes (VC-TX-005).

Three things are kept apart: the tool answered, the tool or the protocol said no in a well-formed way, and everything
else, of which nobody can say whether the work was done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.canon import parse_strict
from countermark.kernel.errors import CountermarkError

_SHOWN: Final = 200
_EXACT: Final = 2**53 - 1  # the largest whole number that every reader of JSON keeps (RFC 8785, I-JSON)
# ContentBlock of MCP 2025-06-18: the members that each kind must have, all of them text.
_BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("name", "uri"),
    "resource": (),
}


@dataclass(frozen=True, slots=True)
class Answered:
    """The tool did its work and says so: content blocks of MCP 2025-06-18, and the structured result if it has one."""

    content: tuple[Mapping[str, Any], ...]
    structured: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """Return the text blocks, a line each."""
        return _text(self.content)


@dataclass(frozen=True, slots=True)
class ToolError:
    """The tool says in a well-formed way that it failed."""

    message: str
    structured: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RpcError:
    """The protocol says no in a well-formed way; -32601 and -32602 come before any work (JSON-RPC 2.0 §5.1)."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The call was submitted and nobody can say from the reply what became of it: look at the artefact."""

    reason: str


Reply = Answered | ToolError | RpcError | Ambiguous


@dataclass(frozen=True, slots=True)
class Response:
    """One answer: a result (any JSON value), or a well-formed error."""

    id: int | str | None
    result: Any = None
    error: RpcError | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """Something the child asks of us."""

    id: int | str
    method: str


@dataclass(frozen=True, slots=True)
class Notification:
    """Something the child tells us."""

    method: str


@dataclass(frozen=True, slots=True)
class Nonsense:
    """A line that is none of these, and why."""

    reason: str


Message = Response | Request | Notification | Nonsense


def read_message(line: bytes) -> Message:
    """Read one line strictly; nothing is raised."""
    try:
        value = parse_strict(line, what="a line of the child")
        if b"\\ud" in line.lower():
            # A lone surrogate is JSON but no text: it could never be stored or hashed.
            json.dumps(value, ensure_ascii=False).encode()
    except CountermarkError as error:
        return Nonsense(error.sentence[:_SHOWN])
    except UnicodeEncodeError:
        return Nonsense("a line of the child holds half a character")
    if not isinstance(value, dict):
        return Nonsense("a line of the child is not an object")
    if value.get("jsonrpc") != "2.0":
        return Nonsense("a line of the child is not JSON-RPC 2.0")
    return _asked(value) if "method" in value else _answered(value)


def _asked(value: Mapping[str, Any]) -> Message:
    method = value["method"]
    if not isinstance(method, str) or "result" in value or "error" in value:
        return Nonsense("a line of the child is both a question and an answer, or its method is no text")
    if "id" not in value:
        return Notification(method)
    if not _is_id(value["id"]):
        return Nonsense("the id of the child's request is neither text nor a whole number")
    return Request(value["id"], method)


def _answered(value: Mapping[str, Any]) -> Message:
    if ("result" in value) == ("error" in value):
        return Nonsense("the answer has " + ("both a result and an error" if "result" in value else "no result"))
    if "id" not in value or not (value["id"] is None or _is_id(value["id"])):
        return Nonsense("the answer's id is neither text nor a whole number")
    if "result" in value:
        return Response(value["id"], result=value["result"])
    error = value["error"]
    if not isinstance(error, dict) or type(error.get("code")) is not int or not isinstance(error.get("message"), str):
        return Nonsense("the answer's error has no whole number as code, or no message")
    return Response(value["id"], error=RpcError(error["code"], error["message"]))


def classify(response: Response) -> Reply:
    """Say what an answer to `tools/call` means; a faulty result is ambiguous, because the work may be done."""
    if response.error is not None:
        return response.error
    result = response.result
    fault = _fault(result)
    if fault is not None:
        return Ambiguous(fault)
    content, structured = result["content"], result.get("structuredContent")
    if result.get("isError"):
        return ToolError(_text(content) or "The tool failed without a message.", structured)
    return Answered(tuple(content), structured)


def _fault(result: Any) -> str | None:
    if not isinstance(result, dict):
        return "the result is not an object"
    if not isinstance(result.get("isError", False), bool):
        return "isError is neither true nor false"
    content = result.get("content")
    if not isinstance(content, list) or not all(_is_block(block) for block in content):
        return "the content is malformed"
    if not isinstance(result.get("structuredContent", {}), dict):
        return "the structured content is not an object"
    return None


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (type(value) is int and abs(value) <= _EXACT)


def _is_block(block: object) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str) or block["type"] not in _BLOCKS:
        return False
    if block["type"] == "resource":
        held = block.get("resource")
        return isinstance(held, dict) and isinstance(held.get("uri"), str) and _has_body(held)
    return all(isinstance(block.get(name), str) for name in _BLOCKS[block["type"]])


def _has_body(resource: Mapping[str, Any]) -> bool:
    return isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str)


def _text(content: tuple[Mapping[str, Any], ...] | list[Any]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")
