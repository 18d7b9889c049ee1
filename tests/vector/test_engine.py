from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.canon import sha256_hex
from countermark.kernel.capability import read_page, read_server
from countermark.kernel.files import Root
from countermark.kernel.reply import Answered, Response, RpcError, ToolError, classify, read_message
from countermark.raster.picture import decode_png
from countermark.vector.document import dump, load
from countermark.vector.engine import LINE_LIMIT, PROTOCOL, Server, lines
from countermark.vector.tasks import SCHEMAS, Tasks
from tests.vector.drawings import RED, drawing, fill, path, solid, square

Json = dict[str, Any]
SOURCE = Path(__file__).resolve().parents[2] / "src"
LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
<rect width="20" height="20" fill="#1a6cff"/><text x="25" y="10">hi</text></svg>"""


def request(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(number: int, tool: str, **arguments: Any) -> bytes:
    return request(number, "tools/call", name=tool, arguments=arguments)


class Conversation:
    """A started engine and what it wrote."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def ask(self, line: bytes) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        message = read_message(self.process.stdout.readline())
        assert isinstance(message, Response), message
        return message


@contextmanager
def engine(stage: Path) -> Iterator[Conversation]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "countermark.vector.engine"]
    with subprocess.Popen(
        command,
        cwd=stage,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        yield Conversation(process)
        process.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Root(tmp_path) as stage:
        yield Server(Tasks(stage))


def answered(server: Server, line: bytes) -> Any:
    answer = server.answer(line)
    assert answer is not None
    message = read_message(json.dumps(answer).encode())
    assert isinstance(message, Response), message
    return message


def staged(folder: Path) -> Json:
    data = dump(drawing(path(1, square(10, 10, 60, 60), fill(solid(RED)))))
    (folder / "in.vectorcraft").write_bytes(data)
    return {"document": "in.vectorcraft", "sha256": sha256_hex(data)}


def board(**changes: Any) -> Json:
    return {
        "id": "full-64",
        "artboard": 1,
        "variant": "full-colour",
        "width": 64,
        "height": 64,
        "formats": ["svg", "png"],
        "output": "full-64",
        **changes,
    }


def tool_error(reply: Any) -> Json:
    assert isinstance(reply, ToolError), reply
    assert reply.structured is not None
    error: Json = reply.structured["error"]
    return error


def test_a_session_imports_and_draws_by_stage_name_and_digest(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_bytes(LOGO)
    with engine(tmp_path) as session:
        hello = session.ask(request(1, "initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo={}))
        assert read_server(hello.result, PROTOCOL).name == "countermark-vector-engine"
        tools, cursor = read_page(session.ask(request(2, "tools/list")).result)
        assert ([tool.name for tool in tools], cursor) == (
            ["describe", "import_svg", "render_kit", "compile_kit"],
            None,
        )

        made = classify(
            session.ask(call(3, "import_svg", input="logo.svg", sha256=sha256_hex(LOGO), output="logo.vectorcraft"))
        )
        assert isinstance(made, Answered)
        assert made.structured is not None
        native = made.structured["document"]
        assert sha256_hex((tmp_path / "logo.vectorcraft").read_bytes()) == native["sha256"]
        assert [row["code"] for row in made.structured["losses"]] == ["text"]

        drawn = classify(
            session.ask(call(4, "render_kit", document=native["name"], sha256=native["sha256"], boards=[board()]))
        )
        assert isinstance(drawn, Answered)
        assert drawn.structured is not None
        outputs = {row["name"]: row for row in drawn.structured["outputs"]}
        assert sorted(outputs) == ["full-64.png", "full-64.svg"]
        for name, row in outputs.items():
            data = (tmp_path / name).read_bytes()
            assert (sha256_hex(data), len(data)) == (row["sha256"], row["size"])
        assert decode_png((tmp_path / "full-64.png").read_bytes()).rgba[32, 10].tolist() == [26, 108, 255, 255]

        assert session.process.stdin is not None
        session.process.stdin.close()
        assert session.process.wait(timeout=30) == 0


def test_nothing_a_library_prints_reaches_the_protocol(tmp_path: Path) -> None:
    chatter = "import os, sys, skia\nos.write(1, b'C chatter\\n')\nprint('Python chatter')\nsys.stdout.flush()\n"
    program = (
        "import sys, countermark.vector.engine as engine\n"
        f"engine.Server.answer = (lambda answer: lambda self, line: (exec({chatter!r}), answer(self, line))[1])"
        "(engine.Server.answer)\n"
        "sys.exit(engine.main([]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input=request(1, "ping") + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert done.stdout.count(b"\n") == 1
    assert b"C chatter" in done.stderr
    assert b"Python chatter" in done.stderr


def test_the_handshake_loads_no_drawing_library(tmp_path: Path) -> None:
    program = (
        "import sys, countermark.vector.engine as engine\n"
        "from countermark.kernel.files import Root\n"
        "server = engine.Server(engine.Tasks(Root('.')))\n"
        'server.answer(b\'{"jsonrpc":"2.0","id":1,"method":"initialize"}\')\n'
        'server.answer(b\'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\')\n'
        "print([name for name in ('skia', 'numpy', 'PIL', 'resvg_py', 'orjson') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.decode().strip() == "[]"


def test_an_announced_digest_that_is_not_the_files_is_refused_and_nothing_is_written(
    server: Server, tmp_path: Path
) -> None:
    arguments = staged(tmp_path) | {"sha256": "0" * 64, "boards": [board()]}

    error = tool_error(classify(answered(server, call(1, "render_kit", **arguments))))

    assert error["code"] == "artifact_invalid"
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.vectorcraft"]


@pytest.mark.parametrize("name", ["../escaped.svg", "/etc/passwd", "folder/../../up.svg"])
def test_a_name_that_leads_out_of_the_stage_is_refused(server: Server, name: str) -> None:
    arguments = {"input": name, "sha256": "0" * 64, "output": "out"}

    assert tool_error(classify(answered(server, call(1, "import_svg", **arguments))))["code"] == "path_escape"


def test_a_link_in_the_stage_is_not_followed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "link.svg").symlink_to("/etc/passwd")
    arguments = {"input": "link.svg", "sha256": "0" * 64, "output": "out"}

    error = tool_error(classify(answered(server, call(1, "import_svg", **arguments))))

    assert error["code"] in {"not_a_regular_file", "path_escape"}


def test_an_output_that_exists_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    arguments = staged(tmp_path) | {"boards": [board(formats=["png"])]}
    (tmp_path / "full-64.png").write_bytes(b"mine")

    error = tool_error(classify(answered(server, call(1, "render_kit", **arguments))))

    assert error["code"] == "output_exists"
    assert (tmp_path / "full-64.png").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("boards", "code"),
    [
        ([board(), board(artboard=7, output="other")], "not_found"),
        ([board(), board(id="again")], "input_invalid"),
    ],
)
def test_one_wrong_board_refuses_the_whole_kit_before_the_first_file(
    server: Server, tmp_path: Path, boards: list[Json], code: str
) -> None:
    error = tool_error(classify(answered(server, call(1, "render_kit", **staged(tmp_path), boards=boards))))

    assert error["code"] == code
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.vectorcraft"]


def test_what_a_board_cannot_show_is_in_the_answer(server: Server, tmp_path: Path) -> None:
    data = dump(drawing({"id": 1, "name": "Claim", "kind": {"type": "text", "runs": []}}))
    (tmp_path / "in.vectorcraft").write_bytes(data)
    arguments = {"document": "in.vectorcraft", "sha256": sha256_hex(data), "boards": [board()]}

    found = classify(answered(server, call(1, "render_kit", **arguments)))

    assert isinstance(found, Answered)
    assert found.structured is not None
    assert found.structured["undrawn"] == [{"artboard": 1, "id": 1, "name": "Claim", "what": "object of type text"}]
    assert found.structured["undrawn_total"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"document": "a", "sha256": "0" * 64, "boards": []},
        {"document": "a", "sha256": "ABC", "boards": [board()]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(extra=1)]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(width=0)]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(width=64.0)]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(width=True)]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(formats=["pdf"])]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(formats=[["png"]])]},
        {"document": "a", "sha256": "0" * 64, "boards": [board(output="")]},
        {"document": "a", "sha256": "0" * 64, "boards": [board()] * 257},
        {"document": 3, "sha256": "0" * 64, "boards": [board()]},
    ],
)
def test_arguments_that_do_not_fit_the_schema_are_refused_by_the_protocol(server: Server, arguments: Json) -> None:
    message = answered(server, call(1, "render_kit", **arguments))

    assert message.error is not None
    assert message.error.code == -32602


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"[]", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"erase"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
    ],
)
def test_what_is_no_good_request_gets_an_error_and_the_session_goes_on(server: Server, line: bytes, code: int) -> None:
    answer = server.answer(line)

    assert answer is not None
    assert answer["error"]["code"] == code
    assert answered(server, request(2, "ping")).result == {}


def test_notifications_are_not_answered(server: Server) -> None:
    assert server.answer(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') is None


def test_a_process_serves_one_session(server: Server) -> None:
    assert answered(server, request(1, "initialize")).error is None
    assert answered(server, request(2, "initialize")).error == RpcError(-32600, "This process serves one session.")


def test_a_broken_document_is_a_refusal_with_its_own_code(server: Server, tmp_path: Path) -> None:
    data = dump(drawing())[:-40]
    (tmp_path / "in.vectorcraft").write_bytes(data)
    arguments = {"document": "in.vectorcraft", "sha256": sha256_hex(data), "boards": [board()]}

    assert tool_error(classify(answered(server, call(1, "render_kit", **arguments))))["code"] == "artifact_invalid"


def test_a_line_without_end_ends_the_session_instead_of_filling_memory(tmp_path: Path) -> None:
    (tmp_path / "endless").write_bytes(b"{}\n" + b"x" * (LINE_LIMIT + 100_000))
    descriptor = os.open(tmp_path / "endless", os.O_RDONLY)
    try:
        assert list(lines(descriptor)) == [b"{}"]
    finally:
        os.close(descriptor)


def test_every_tool_is_closed_to_unknown_arguments_and_annotated() -> None:
    for tool in SCHEMAS:
        assert tool["inputSchema"]["additionalProperties"] is False
        assert {"readOnlyHint", "destructiveHint", "openWorldHint"} == tool["annotations"].keys()


def test_the_document_that_was_imported_opens_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_bytes(LOGO)
    arguments = {"input": "logo.svg", "sha256": sha256_hex(LOGO), "output": "logo.vectorcraft", "name": "brand.svg"}

    answered(server, call(1, "import_svg", **arguments))

    assert load((tmp_path / "logo.vectorcraft").read_bytes()).tree["countermark"]["source"]["name"] == "brand.svg"
