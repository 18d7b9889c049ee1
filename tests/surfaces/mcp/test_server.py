"""The MCP surface as a client sees it: the real server in a process of its own, asked by our strict client."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel import grant
from countermark.kernel.ledger import Tx
from countermark.kernel.stdio import Answered, ToolError
from countermark.kernel.workspace import Workspace
from countermark.surfaces.mcp import toolset

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><path id="a" fill="#1a6cff" d="M0 0h6v6h-6z"/>'
    '<path id="b" fill="#1a6cff" d="M7 7h3v3h-3z"/></svg>'
)
Ask = Callable[..., Any]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    with Workspace.create(tmp_path / "space") as workspace:

        def narrow(tx: Tx) -> None:
            terms = grant.Terms(("vector.write",), ("file:other.vectorcraft",))
            grant.issue(tx, grant.Grant("narrow", "default", (), "test", "test", terms, tx.now))

        workspace.ledger.apply(narrow)
    return tmp_path / "space"


@pytest.fixture
def connect(space: Path, mcp_server: Callable[..., Ask]) -> Callable[..., Ask]:
    """Start servers; each returns a function that calls one tool."""

    def start(grant_id: str = "") -> Ask:
        call = mcp_server(space, "vector", grant_id)
        return lambda tool, **said: call("tools/list" if tool == "tools" else tool, **said)

    return start


@pytest.fixture
def converse(
    space: Path, mcp_command: Callable[..., tuple[list[str], dict[str, str]]]
) -> Callable[[list[tuple[str, dict[str, Any]]]], tuple[list[Any], str]]:
    """Send requests line by line to a server; return its answers and what it wrote beside them."""

    def all_of(requests: list[tuple[str, dict[str, Any]]]) -> tuple[list[Any], str]:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        greeted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        messages: list[dict[str, Any]] = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, greeted]
        for number, (method, params) in enumerate(requests, start=1):
            messages.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        (argv, env), pipe = mcp_command(space, "vector"), subprocess.PIPE
        answers: list[Any] = []
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as server:
            assert server.stdin
            assert server.stdout
            assert server.stderr
            for message in messages:
                server.stdin.write(json.dumps(message).encode() + b"\n")
                server.stdin.flush()
                if "id" in message:
                    answers.append(json.loads(server.stdout.readline()))
            server.stdin.close()
            return answers, server.stderr.read().decode()

    return all_of


def test_what_a_link_names_can_be_read_and_anything_else_is_refused_as_data(
    converse: Callable[..., tuple[list[Any], str]], space: Path
) -> None:
    call = {"name": "m.svg", "svg": SVG, "idempotency_key": "i", "expected_revision": "absent"}
    hello, done = converse([("tools/call", {"name": "vector_import", "arguments": call})])[0]
    links = [one["uri"] for one in done["result"]["content"] if one["type"] == "resource_link"]
    digest = hashlib.sha256((space / "m.vectorcraft").read_bytes()).hexdigest()
    refused = ["countermark://artifact/" + "0" * 64, "countermark://task/t-none/receipt", "file:///etc/passwd"]

    uris = [*links, f"countermark://artifact/{digest}", *refused]
    answers, beside = converse([("resources/read", {"uri": uri}) for uri in uris])

    assert "resources" in hello["result"]["capabilities"]
    receipt, document = (answer["result"]["contents"][0] for answer in answers[1:3])
    assert json.loads(receipt["text"])["payloadType"] == "application/vnd.in-toto+json"
    assert hashlib.sha256(base64.b64decode(document["blob"])).hexdigest() == digest
    assert [answer["error"]["data"]["code"] for answer in answers[3:]] == ["not_found"] * 3
    assert "Traceback" not in beside


def test_the_tools_are_few_small_closed_and_annotated(connect: Callable[..., Ask]) -> None:
    tools = connect()("tools").tools
    assert set(tools) >= {"vector_read", "vector_import", "vector_apply", "vector_export", "task_status"}
    assert len(tools) <= toolset.MOST_TOOLS
    assert len(json.dumps([dict(tool.declaration) for tool in tools.values()])) <= toolset.MOST_BYTES
    for name, tool in tools.items():
        assert tool.input_schema["additionalProperties"] is False
        hints = tool.declaration["annotations"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= set(hints)
        if name.startswith("vector_") and not hints["readOnlyHint"]:
            assert {"idempotency_key", "expected_revision"} <= set(tool.input_schema["required"])


@pytest.mark.promise("mcp.write.key-and-revision")
def test_an_agent_imports_once_and_its_stale_write_is_refused(connect: Callable[..., Ask], space: Path) -> None:
    ask = connect()
    call = {"name": "mark.svg", "svg": SVG, "idempotency_key": "i", "expected_revision": "absent"}
    first, again = ask("vector_import", **call), ask("vector_import", **call)
    assert isinstance(first, Answered)
    assert first.structured is not None
    assert again.structured["task"] == first.structured["task"]
    assert (first.structured["repeated"], again.structured["repeated"]) == (False, True)
    seen = ask("vector_read").structured
    bind = {"operation": "swatch.bind", "swatch": "primary", "colour": "#1a6cff", "idempotency_key": "b"}
    bound = ask("vector_apply", **bind, leave=[], expected_revision=seen["revision"])
    assert len(bound.structured["changed"]) == 2
    stale = ask(
        "vector_apply",
        operation="swatch.set",
        swatch="primary",
        colour="#000000",
        idempotency_key="s",
        expected_revision=seen["revision"],
    )
    assert isinstance(stale, ToolError)
    assert stale.structured is not None
    assert stale.structured["error"]["code"] == "revision_conflict"
    before = (space / "mark.vectorcraft").read_bytes()
    assert b"000000" not in before


def test_arguments_that_do_not_fit_are_refused_with_their_place(connect: Callable[..., Ask]) -> None:
    ask = connect()
    for arguments, pointer in (({"nope": 1}, "/"), ({"document": 5}, "/document")):
        refused = ask("vector_read", **arguments)
        assert isinstance(refused, ToolError)
        assert refused.structured is not None
        assert refused.structured["error"]["code"] == "input_invalid"
        assert refused.structured["error"]["details"]["pointer"] == pointer


@pytest.mark.promise("mcp.grant.fixed-by-the-person")
def test_a_server_started_under_a_grant_never_acts_under_another(connect: Callable[..., Ask], space: Path) -> None:
    ask = connect("narrow")
    call = {"name": "mark.svg", "svg": SVG, "idempotency_key": "i", "expected_revision": "absent", "grant": "default"}
    refused = ask("vector_import", **call)
    assert isinstance(refused, ToolError)
    assert refused.structured is not None
    assert refused.structured["error"]["code"] == "permission_denied"
    assert refused.structured["error"]["details"]["event"]
    assert not (space / "mark.vectorcraft").exists()


def test_a_task_can_be_looked_at_after_a_lost_reply(connect: Callable[..., Ask]) -> None:
    ask = connect()
    done = ask("vector_import", name="m.svg", svg=SVG, idempotency_key="i", expected_revision="absent").structured
    status = connect()("task_status", task=done["task"]).structured
    assert (status["state"], status["executed"]) == ("completed", "yes")
    missing = ask("task_status", task="t-none")
    assert isinstance(missing, ToolError)


def test_a_board_comes_as_a_picture_and_a_kit_as_links(connect: Callable[..., Ask], space: Path) -> None:
    ask = connect()
    ask("vector_import", name="m.svg", svg=SVG, idempotency_key="i", expected_revision="absent")
    kit = ask("vector_export", idempotency_key="k", expected_revision="absent")
    kinds = [one["type"] for one in kit.content]
    assert (
        kinds.count("resource_link") == 35
    )  # the receipt, 26 boards, six files made of them, the loss report, the record page
    assert (space / "kit/receipt.json").exists()
    assert kit.structured is not None
    read = ask("vector_read").structured
    assert read is not None
    assert read["kit"] == {"folder": "kit", "revision": kit.structured["revision"]}
    seen = ask("vector_read", board="artboard-1-full-colour-48")
    assert [one["type"] for one in seen.content] == ["text", "image"]


def test_a_server_under_a_grant_cannot_stop_another_grants_task(connect: Callable[..., Ask]) -> None:
    done = connect()("vector_import", name="m.svg", svg=SVG, idempotency_key="i", expected_revision="absent").structured
    refused = connect("narrow")("task_cancel", task=done["task"])
    assert isinstance(refused, ToolError)
    assert refused.structured is not None
    assert refused.structured["error"]["code"] == "permission_denied"
