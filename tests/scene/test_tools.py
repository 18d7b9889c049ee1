"""The five tools as a client sees them: the real server in a process of its own, asked by our strict client."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from countermark.kernel import grant
from countermark.kernel.ledger import Tx
from countermark.kernel.stdio import Answered, ToolError
from countermark.kernel.workspace import Workspace
from countermark.scene import contract, element, operation, tools, vocabulary
from countermark.scene.adapter import SceneAdapter
from countermark.scene.codes import STATUS
from countermark.scene.env import Env
from countermark.scene.store import Store
from countermark.surfaces.mcp.server import Surface

NAMES: Final = {f"excalidraw_scene_{word}" for word in ("list", "read", "create", "apply", "validate")}
BOX: Final = {"type": "rectangle", "id": "box", "x": 10, "y": 20, "width": 100, "height": 50}
PNG: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FILES: Final = {"f1": {"id": "f1", "mimeType": "image/png", "dataURL": PNG}}
EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "rectangle": {**BOX, "label": "One", "roundness": {"type": 3}, "fillStyle": "solid", "opacity": 80},
    "ellipse": {"type": "ellipse", "x": 0, "y": 0, "width": 9, "height": 9, "strokeStyle": "dashed", "roughness": 0},
    "diamond": {"type": "diamond", "x": 0, "y": 0, "width": 90, "height": 90, "label": {"text": "Two", "fontSize": 16}},
    "arrow": {
        "type": "arrow",
        "x": 0,
        "y": 0,
        "points": [[0, 0], [50, 20]],
        "endArrowhead": "triangle",
        "startArrowhead": None,
        "elbowed": False,
    },
    "line": {"type": "line", "x": 0, "y": 0, "points": [[0, 0], [5, 5], [9, 0]], "link": "https://example.org/"},
    "text": {"type": "text", "x": 0, "y": 0, "text": "Hello", "fontSize": 20, "fontFamily": 5, "textAlign": "left"},
    "freedraw": {
        "type": "freedraw",
        "x": 0,
        "y": 0,
        "points": [[0, 0], [1, 2]],
        "pressures": [0.5, 0.5],
        "simulatePressure": False,
    },
    "image": {"type": "image", "x": 0, "y": 0, "width": 9, "height": 9, "fileId": "f1", "scale": [1, 1]},
}
Ask = Callable[..., Any]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    with Workspace.create(tmp_path / "space") as workspace:

        def narrow(tx: Tx) -> None:
            terms = grant.Terms(("vector.write",), ("",))
            grant.issue(tx, grant.Grant("narrow", "default", (), "test", "test", terms, tx.now))

        workspace.ledger.apply(narrow)
    return tmp_path / "space"


@pytest.fixture
def connect(space: Path, mcp_server: Callable[..., Ask]) -> Callable[..., Ask]:
    """Start servers; each returns a function that calls one tool of scenes."""

    def start(grant_id: str = "", sets: str = "scene") -> Ask:
        call = mcp_server(space, sets, grant_id)
        return lambda tool, **said: call("tools/list" if tool == "tools" else f"excalidraw_scene_{tool}", **said)

    return start


@pytest.fixture
def ask(connect: Callable[..., Ask]) -> Ask:
    return connect()


def good(answer: Any) -> dict[str, Any]:
    assert isinstance(answer, Answered), answer
    data = dict(answer.structured or {})
    assert data["ok"] is True
    assert json.loads(answer.content[0]["text"]) == data
    return data


def bad(answer: Any) -> dict[str, Any]:
    assert isinstance(answer, ToolError), answer
    data = dict(answer.structured or {})
    assert set(data) == {"ok", "error"}
    assert data["ok"] is False
    assert {"code", "message"} <= set(data["error"])
    assert json.loads(answer.message) == data
    return dict(data["error"])


@pytest.mark.promise("scene.tools.five")
def test_the_set_is_the_five_tools_in_eight_kilobytes_closed_flat_and_annotated(ask: Ask) -> None:
    listed = ask("tools").tools
    assert set(listed) == NAMES
    whole = json.dumps({"tools": [dict(tool.declaration) for tool in listed.values()]})
    assert len(whole) <= 8 * 1024
    for word in ("oneOf", "anyOf", "allOf", "$ref", "$defs"):
        assert word not in whole
    for name, tool in listed.items():
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        hints = tool.declaration["annotations"]
        reads = name.rpartition("_")[2] in ("list", "read", "validate")
        assert hints["readOnlyHint"] is reads
        assert hints["openWorldHint"] is False
    assert set(listed["excalidraw_scene_apply"].input_schema["required"]) == {"name", "expected_revision", "operations"}
    assert set(listed["excalidraw_scene_create"].input_schema["required"]) == {"name"}


def test_beside_another_domain_the_five_stand_with_its_own(connect: Callable[..., Ask]) -> None:
    listed = set(connect(sets="vector,scene")("tools").tools)
    assert listed > NAMES
    assert "task_status" in listed


def test_the_set_for_seeing_stands_beside_the_five_and_only_reads(connect: Callable[..., Ask], space: Path) -> None:
    ask = connect(sets="scene,scene-view")
    listed = ask("tools").tools
    assert set(listed) == NAMES | {f"excalidraw_scene_{name}" for name in ("render", "diff", "lint", "history")}
    whole = json.dumps({"tools": [dict(tool.declaration) for tool in listed.values()]})
    assert len(whole) <= 12 * 1024
    for name in set(listed) - NAMES:
        assert listed[name].input_schema["additionalProperties"] is False
        assert listed[name].declaration["annotations"]["readOnlyHint"] is True
        assert listed[name].declaration["annotations"]["openWorldHint"] is False
    good(ask("create", name="plan", elements=[{**EXAMPLES["rectangle"], "id": "box", "label": "API"}]))
    good(ask("apply", name="plan", expected_revision=1, operations=[{"op": "delete", "id": "box"}]))
    before = (space / "plan.excalidraw").read_bytes()
    told = good(ask("diff", name="plan"))
    assert (told["from"], told["to"], told["summary"], told["lines"]) == (1, 2, "1 removed", ["- box “API”"])
    rows = good(ask("history", name="plan"))["versions"]
    assert [(row["revision"], row["savedBy"]) for row in rows] == [(2, "agent"), (1, "agent")]
    assert good(ask("lint", name="plan"))["summary"] == "nothing looks wrong"
    assert bad(ask("diff", name="plan", **{"from": 9}))["code"] == "not_found"
    assert bad(ask("history", name="nobody"))["code"] == "not_found"
    assert bad(ask("lint", name="plan", extra=1))["code"] == "invalid_operation"
    assert (space / "plan.excalidraw").read_bytes() == before


@pytest.mark.parametrize("kind", vocabulary.CREATABLE)
def test_every_types_example_fits_the_schema_and_the_domain(kind: str) -> None:
    arguments = {"name": "plan", "elements": [EXAMPLES[kind]], "files": FILES}
    jsonschema.validate(arguments, contract.CREATE, cls=jsonschema.Draft202012Validator)
    made = operation.create([EXAMPLES[kind]], Env(files=FILES))
    assert made.added == 1


def test_the_schema_names_what_the_domain_takes_and_nothing_else() -> None:
    properties = contract.ELEMENT["properties"]
    assert tuple(properties["type"]["enum"]) == vocabulary.CREATABLE
    for end in ("startArrowhead", "endArrowhead"):
        assert properties[end]["enum"] == [*vocabulary.ARROWHEADS, None]
    taken = {"id", "type", "x", "y"}.union(element.COMMON, *element.INPUT.values())
    assert set(properties) == taken
    assert set(properties["fontFamily"]["enum"]) == vocabulary.FONT_FAMILIES
    assert set(properties["fillStyle"]["enum"]) == vocabulary.FILL_STYLES
    used: set[str] = set()
    for example in EXAMPLES.values():
        used |= set(example)
    assert used <= set(properties)


def test_a_scene_is_created_read_changed_listed_and_its_bytes_are_what_is_said(ask: Ask, space: Path) -> None:
    assert good(ask("list"))["scenes"] == []
    made = good(ask("create", name="plan", elements=[BOX], request_id="c1"))
    assert {"name", "revision", "sha256", "byteLength", "elementCount", "savedAt", "verified", "summary"} <= set(made)
    assert (made["revision"], made["elementCount"], made["verified"]) == (1, 1, True)

    read = good(ask("read", name="plan"))
    wanted = {"ok", "name", "revision", "sha256", "updatedAt", "updatedBy", "byteLength", "scene"}
    assert set(read) == wanted
    assert (read["updatedBy"], read["scene"]["elements"][0]["id"]) == ("agent", "box")

    done = good(
        ask(
            "apply",
            name="plan",
            expected_revision=1,
            operations=[
                {"op": "add", "element": {"type": "ellipse", "id": "e", "x": 300, "y": 0, "width": 50, "height": 50}},
                {
                    "op": "add",
                    "element": {"type": "arrow", "x": 0, "y": 0, "startElementId": "box", "endElementId": "e"},
                },
                {"op": "update", "id": "box", "patch": {"x": 20, "label": "Start"}},
            ],
            app_state={"viewBackgroundColor": "#eeeeee"},
            request_id="a1",
        )
    )
    assert (done["revision"], done["previousRevision"], done["duplicate"]) == (2, 1, False)
    assert {"added": 2, "updated": 1, "deleted": 0}.items() <= done["operations"].items()
    assert done["operations"]["ids"][0] == "e"
    assert done["sha256"] == hashlib.sha256((space / "plan.excalidraw").read_bytes()).hexdigest()
    row = good(ask("list"))["scenes"][0]
    assert set(row) >= {"name", "revision", "elementCount", "byteLength", "updatedAt", "updatedBy", "sha256", "valid"}
    assert (row["revision"], row["valid"], row["updatedBy"]) == (2, True, "agent")


def test_a_summary_has_each_elements_place_and_can_be_filtered(ask: Ask) -> None:
    elements = [BOX, {"type": "text", "id": "t", "x": 0, "y": 0, "text": "Hello"}, EXAMPLES["image"]]
    good(ask("create", name="plan", elements=elements, files=FILES))
    read = good(ask("read", name="plan", include="summary"))
    assert "scene" not in read
    assert read["files"] == ["f1"]
    box, text, _ = read["elements"]
    assert box == {"id": "box", "type": "rectangle", "x": 10, "y": 20, "width": 100, "height": 50, "isDeleted": False}
    assert (text["text"], text["isDeleted"]) == ("Hello", False)
    only = good(ask("read", name="plan", include="summary", element_type="text"))
    assert [one["id"] for one in only["elements"]] == ["t"]


def test_pictures_come_with_a_full_read_unless_they_are_not_wanted(ask: Ask) -> None:
    good(ask("create", name="plan", elements=[EXAMPLES["image"]], files=FILES))
    assert good(ask("read", name="plan"))["scene"]["files"]["f1"]["dataURL"] == PNG
    assert good(ask("read", name="plan", include_files=False))["scene"]["files"] == {}


@pytest.mark.promise("scene.tools.full")
def test_a_full_read_carries_the_scene_or_fails_and_never_leaves_it_out(ask: Ask, space: Path) -> None:
    line = {"id": "a", "type": "line", "x": 0, "y": 0, "points": [], "customData": {"text": "x" * tools.FULL_CAP}}
    text = json.dumps({"type": "excalidraw", "elements": [line], "appState": {}, "files": {}})
    (space / "big.excalidraw").write_text(text)
    error = bad(ask("read", name="big"))
    assert error["code"] == "too_large"
    assert error["details"]["link"] == "countermark://scene/big"
    assert good(ask("read", name="big", include="summary"))["elements"][0]["id"] == "a"


def test_a_stale_agent_is_told_what_is_current_and_changes_nothing(ask: Ask, space: Path) -> None:
    good(ask("create", name="plan", elements=[BOX]))
    move = [{"op": "update", "id": "box", "patch": {"x": 1}}]
    first = good(ask("apply", name="plan", expected_revision=1, operations=move))
    error = bad(ask("apply", name="plan", expected_revision=1, operations=move))
    assert error["code"] == "revision_conflict"
    details = error["details"]
    assert (details["currentRevision"], details["currentSha256"]) == (2, first["sha256"])
    assert (details["expectedRevision"], bool(details["updatedAt"])) == (1, True)


@pytest.mark.promise("scene.request.once")
def test_the_same_request_id_answers_the_first_result_before_the_fence(ask: Ask) -> None:
    good(ask("create", name="plan", elements=[BOX]))
    move = [{"op": "update", "id": "box", "patch": {"x": 1}}]
    call = {"name": "plan", "expected_revision": 1, "operations": move, "request_id": "once"}
    first = good(ask("apply", **call))
    again = good(ask("apply", **call))
    assert (again["revision"], again["sha256"], again["duplicate"]) == (2, first["sha256"], True)
    assert again["operations"] == {"added": 0, "updated": 0, "deleted": 0, "ids": []}
    other = good(ask("apply", **{**call, "operations": [{"op": "delete", "id": "box"}]}))
    assert (other["duplicate"], other["payloadMatches"]) == (True, False)
    assert "message" in other
    assert good(ask("list"))["scenes"][0]["revision"] == 2


@pytest.mark.promise("scene.tools.all-or-none")
def test_one_bad_operation_rejects_all(ask: Ask, space: Path) -> None:
    good(ask("create", name="plan", elements=[BOX]))
    before = (space / "plan.excalidraw").read_bytes()
    operations = [{"op": "update", "id": "box", "patch": {"x": 1}}, {"op": "delete", "id": "nobody"}]
    assert bad(ask("apply", name="plan", expected_revision=1, operations=operations))["code"] == "not_found"
    assert (space / "plan.excalidraw").read_bytes() == before


BAD: Final[list[tuple[str, dict[str, Any], str | None]]] = [
    ("read", {"name": "../etc/passwd"}, "invalid_name"),
    ("read", {"name": "none"}, "not_found"),
    ("read", {}, "invalid_operation"),
    ("read", {"name": "plan", "include": "all"}, "invalid_operation"),
    ("read", {"name": "plan", "path": "/etc"}, "invalid_operation"),
    ("list", {"folder": "/"}, "invalid_operation"),
    ("create", {"name": "plan"}, "already_exists"),
    ("create", {"name": "b", "elements": [{"type": "frame", "x": 0, "y": 0}]}, "invalid_operation"),
    ("create", {"name": "b", "elements": [{"type": "image", "x": 0, "y": 0, "fileId": "f9"}]}, None),
    ("create", {"name": "b", "elements": [BOX, BOX]}, "duplicate_id"),
    ("create", {"name": "b", "app_state": {"zoom": 3}}, "invalid_operation"),
    ("apply", {"name": "plan", "expected_revision": True, "operations": [{"op": "delete", "id": "box"}]}, None),
    ("apply", {"name": "plan", "expected_revision": "1", "operations": [{"op": "delete", "id": "box"}]}, None),
    ("apply", {"name": "plan", "expected_revision": 1.5, "operations": [{"op": "delete", "id": "box"}]}, None),
    ("apply", {"name": "plan", "expected_revision": 1, "operations": []}, "invalid_operation"),
    ("apply", {"name": "plan", "expected_revision": 1, "operations": [{"op": "delete", "id": "box"}] * 501}, None),
    ("apply", {"name": "plan", "expected_revision": 1, "operations": [{"op": "delete", "id": 5}]}, None),
    ("apply", {"name": "plan", "operations": [{"op": "delete", "id": "box"}]}, "invalid_operation"),
    ("validate", {"scene": []}, "invalid_operation"),
]


@pytest.mark.promise("scene.tools.codes")
def test_bad_arguments_get_one_of_the_seeds_codes_and_change_nothing(ask: Ask, space: Path) -> None:
    good(ask("create", name="plan", elements=[BOX]))
    before = (space / "plan.excalidraw").read_bytes()
    for tool, arguments, code in BAD:
        error = bad(ask(tool, **arguments))
        assert error["code"] in ({code} if code else {"invalid_operation", "invalid_reference"}), (tool, arguments)
        assert (space / "plan.excalidraw").read_bytes() == before
        assert not (space / "b.excalidraw").exists()


def test_validation_tells_what_is_wrong_and_touches_nothing(ask: Ask, space: Path) -> None:
    good(ask("create", name="plan", elements=[BOX]))
    scene = good(ask("read", name="plan"))["scene"]
    report = good(ask("validate", scene=scene))
    assert (report["valid"], report["stats"]["elements"]) == (True, 1)
    scene["elements"].append({**scene["elements"][0], "x": "1"})
    report = good(ask("validate", scene=scene))
    assert report["valid"] is False
    assert {one["code"] for one in report["diagnostics"]} >= {"duplicate_id"}
    assert sorted(one.name for one in space.glob("*.excalidraw")) == ["plan.excalidraw"]


def test_numbers_and_texts_beyond_other_readers_are_answered_and_never_a_defect(space: Path) -> None:
    with Workspace(space, adapters=[SceneAdapter()]) as workspace:
        surface = Surface(workspace, tools.TOOLS, None)

        def told(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = surface.call(f"excalidraw_scene_{tool}", arguments)
            return dict(answer.structured_content or {})

        told("create", name="plan", elements=[BOX])
        odds: tuple[Any, ...] = (10**30, -(10**400), 1e308, float("nan"), "\ud800", "\x00", None, [], {"__proto__": 1})
        for odd in odds:
            for member in ("x", "label", "customData", "points"):
                change = [{"op": "update", "id": "box", "patch": {member: odd}}]
                answer = told("apply", name="plan", expected_revision=1, operations=change)
                assert answer["ok"] is True or answer["error"]["code"] in STATUS
                assert answer["ok"] is True or answer["error"]["code"] != "io_error", (member, odd)
                if answer["ok"]:
                    told("apply", name="plan", expected_revision=2, operations=[{"op": "delete", "id": "box"}])
                    (space / "plan.excalidraw").unlink()
                    told("create", name="plan", elements=[BOX])
        line = {"id": "a", "type": "line", "x": 12345678901234567890123, "y": 0, "points": []}
        (space / "long.excalidraw").write_text(json.dumps({"type": "excalidraw", "elements": [line]}))
        for more in ({}, {"include_files": False}):
            assert told("read", name="long", **more)["scene"]["elements"][0]["x"] == 12345678901234567890123


@pytest.mark.promise("scene.serve.nothing-left")
def test_after_the_client_left_no_process_no_lock_and_no_turn_is_left(
    space: Path, mcp_command: Callable[..., tuple[list[str], dict[str, str]]]
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "excalidraw_scene_create", "arguments": {"name": "plan", "elements": [BOX]}}
    (argv, env), pipe = mcp_command(space, "scene"), subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        for number, (method, params) in enumerate((("initialize", hello), ("tools/call", call))):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            if not number:
                server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        assert answer["result"]["structuredContent"]["revision"] == 1
        server.stdin.close()
        assert server.wait(60) == 0
        assert server.stderr.read() == b""
    assert list((space / ".countermark/locks").glob("r-*")) == []
    assert list((space / ".dsh-excalidraw/locks").glob("*.lock")) == []
    with Store(space, lock_seconds=0.0) as store:
        saved = store.save("plan", lambda scene: scene.replaced(elements=[]), expected_revision=1, actor="cli")
    assert saved.revision == 2


def test_a_server_under_a_grant_that_does_not_allow_scenes_writes_none(
    connect: Callable[..., Ask], space: Path
) -> None:
    ask = connect("narrow")
    error = bad(ask("create", name="plan"))
    assert error["code"] == "permission_denied"
    assert good(ask("list"))["scenes"] == []
    assert not (space / "plan.excalidraw").exists()
