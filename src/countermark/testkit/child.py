"""A scripted child: speaks MCP over its standard streams, does the work, and then misbehaves as its script says.

    python -m countermark.testkit.child --script script.json

The script is one JSON object:

    {"witness": "/tmp/x/witness.sock",
     "tools": [{"name": "work", "inputSchema": {"type": "object"}}],
     "initialize": {"then": "reply"}, "list": {"then": "reply"},
     "calls": [{"effect": "a", "then": "lose"}, {"effect": "b", "then": "reply", "structured": {"n": 1}}]}

One entry of `calls` serves one `tools/call`; the last serves all further ones. An entry with `effect` tells the
witness before anything else happens; `then` is a name of BEHAVIOURS. Members: `structured` and `text` make the result;
`until` names a FIFO that is read to its end before the answer; `initialize` and `list` take the same behaviours.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from countermark.testkit.witness import WitnessClient

PROTOCOL: Final = "2025-06-18"
FLOOD: Final = 4 * 1024 * 1024
LINE_FLOOD: Final = 9 * 1024 * 1024
DESCENDANT_SECONDS: Final = 60

Answer = dict[str, Any]
Entry = Mapping[str, Any]


def argv(script: Path) -> list[str]:
    """Return the command that runs a script; the environment must let Python find this package."""
    return [sys.executable, "-m", __spec__.name, "--script", str(script)]


def say(message: Any) -> None:
    """Write one message on one line."""
    shout(json.dumps(message) + "\n")


def shout(text: str) -> None:
    """Write exactly this text."""
    data = text.encode()
    while data:
        data = data[os.write(1, data) :]


def hang() -> NoReturn:
    """Wait for a signal, for ever."""
    while True:
        signal.pause()


def twice(answer: Answer, _: Entry) -> None:
    """Answer twice at once."""
    shout((json.dumps(answer) + "\n") * 2)


def late(answer: Answer, _: Entry) -> None:
    """Answer when nobody waits any more: after the end of input."""
    while os.read(0, 65536):
        pass
    say(answer)


def partially(answer: Answer, _: Entry) -> NoReturn:
    """Write half a line and hang."""
    text = json.dumps(answer)
    shout(text[: len(text) // 2])
    hang()


def flood_stderr(answer: Answer, _: Entry) -> None:
    """Write far more to standard error than any pipe holds, then answer."""
    for _block in range(FLOOD // 65536):
        os.write(2, b"e" * 65536)
    say(answer)


def stay(answer: Answer, entry: Entry) -> None:
    """Leave a descendant behind, in a session of its own when `setsid` is true; its pid is in the answer.

    It keeps every descriptor, ignores TERM when `stubborn` is true, and ends by itself after a minute.
    """
    ready_in, ready_out = os.pipe()
    pid = os.fork()
    if not pid:
        if entry.get("setsid"):
            os.setsid()
        if entry.get("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.alarm(DESCENDANT_SECONDS)
        os.write(ready_out, b"x")
        hang()
    os.read(ready_in, 1)
    answer["result"]["structuredContent"] = {"descendant": pid}
    say(answer)


def ask_first(answer: Answer, entry: Entry) -> None:
    """Ask the client something (`method`), and put its answer into the structured result."""
    say({"jsonrpc": "2.0", "id": "ask-1", "method": entry.get("method", "ping")})
    answer["result"]["structuredContent"] = {"client": json.loads(sys.stdin.buffer.readline())}
    say(answer)


def chatter(answer: Answer, _: Entry) -> None:
    """Notify without end and faster than anybody reads; the answer never comes."""
    del answer
    notification = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    many = (json.dumps(notification) + "\n") * 500
    while True:
        shout(many)


def notify_first(answer: Answer, entry: Entry) -> None:
    """Send a notification (`method`), then answer."""
    say({"jsonrpc": "2.0", "method": entry.get("method", "notifications/message")})
    say(answer)


def again(answer: Answer, _: Entry) -> None:
    """Answer the request before this one a second time, then this one."""
    say({**answer, "id": answer["id"] - 1})
    say(answer)


def twice_apart(answer: Answer, entry: Entry) -> None:
    """Answer; wait for the FIFO `release`; answer again; say so by the FIFO `done`."""
    say(answer)
    Path(entry["release"]).read_bytes()
    say(answer)
    Path(entry["done"]).write_bytes(b"said")


def reply_and_hang(answer: Answer, _: Entry) -> NoReturn:
    """Answer and read nothing more."""
    say(answer)
    hang()


def reply_and_close_input(answer: Answer, _: Entry) -> NoReturn:
    """Close the input, answer, and hang."""
    os.close(0)
    say(answer)
    hang()


def result_with(**members: Any) -> Callable[[Answer, Entry], None]:
    """Return a behaviour that answers with these members in the result."""

    def behave(answer: Answer, _: Entry) -> None:
        answer["result"].update(members)
        say(answer)

    return behave


def message_with(**members: Any) -> Callable[[Answer, Entry], None]:
    """Return a behaviour that answers with these members beside the result."""
    return lambda answer, _: say({**answer, **members})


def rpc_error(answer: Answer, _: Entry) -> None:
    """Answer with a well-formed error of the protocol."""
    say({"jsonrpc": "2.0", "id": answer["id"], "error": {"code": -32602, "message": "scripted"}})


def raw(text: str) -> Callable[[Answer, Entry], None]:
    """Return a behaviour that writes this text, with `ID` for the request's id."""
    return lambda answer, _: shout(text.replace("ID", str(answer["id"])))


_RESULT: Final = '{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":%s}}'

BEHAVIOURS: Final[Mapping[str, Callable[[Answer, Entry], None]]] = {
    "reply": lambda answer, _: say(answer),
    "lose": lambda _, __: sys.exit(0),
    "die_after": lambda _, __: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda _, __: hang(),
    "close_output": lambda _, __: os.close(1),
    "twice": twice,
    "twice_apart": twice_apart,
    "again": again,
    "reply_and_hang": reply_and_hang,
    "reply_and_close_input": reply_and_close_input,
    "late": late,
    "partial": partially,
    "chatter": chatter,
    "notify_first": notify_first,
    "ask_first": ask_first,
    "stderr_flood": flood_stderr,
    "stay": stay,
    "tool_error": result_with(isError=True, content=[{"type": "text", "text": "scripted failure"}]),
    "rpc_error": rpc_error,
    "nonsense": raw("this is not JSON\n"),
    "empty_line": raw("\n"),
    "array": raw('[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]\n'),
    "nan": raw('{"jsonrpc":"2.0","id":ID,"result":' + _RESULT % "NaN" + "}\n"),
    "infinity": raw('{"jsonrpc":"2.0","id":ID,"result":' + _RESULT % "1e999" + "}\n"),
    "duplicate_keys": raw('{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{"content":[]}}\n'),
    "half_character": raw('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\ud800"}]}}\n'),
    "long_line": raw("x" * LINE_FLOOD + "\n"),
    "wrong_id": message_with(id=4711),
    "text_id": raw('{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}\n'),
    "true_id": message_with(id=True),
    "null_id": message_with(id=None),
    "no_version": message_with(jsonrpc="1.0"),
    "both": message_with(error={"code": -32000, "message": "and an error"}),
    "neither": raw('{"jsonrpc":"2.0","id":ID}\n'),
    "malformed_error": raw('{"jsonrpc":"2.0","id":ID,"error":"no"}\n'),
    "is_error_text": result_with(isError="false"),
    "is_error_number": result_with(isError=0),
    "malformed_content": result_with(content=[{"type": "text"}]),
    "unknown_content": result_with(content=[{"type": "hologram", "text": "x"}]),
    "no_content": result_with(content=None),
    "structured_list": result_with(structuredContent=[1]),
    "error_field": result_with(structuredContent={"error": "a business field"}),
}


class ScriptedChild:
    """Serves one script."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        """Take the script."""
        self._script = script
        self._calls: list[Entry] = list(script.get("calls", [{"then": "reply"}]))
        self._witness = WitnessClient(script["witness"]) if "witness" in script else None

    def serve(self) -> None:
        """Answer until the input ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self._serve(message)

    def _serve(self, message: Mapping[str, Any]) -> None:
        answer: Answer = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        if message["method"] == "initialize":
            entry: Entry = self._script.get("initialize", {})
            server = {"name": "scripted", "version": self._script.get("version", "1")}
            answer["result"] = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": server}
        elif message["method"] == "tools/list":
            entry = self._script.get("list", {})
            answer["result"] = self._page(message.get("params", {}).get("cursor"))
        else:
            entry = self._calls.pop(0) if len(self._calls) > 1 else self._calls[0]
            answer["result"] = {"content": [{"type": "text", "text": entry.get("text", "done")}]}
            if "structured" in entry:
                answer["result"]["structuredContent"] = entry["structured"]
        self._act(answer, entry)

    def _act(self, answer: Answer, entry: Entry) -> None:
        if entry.get("then") == "die_before":
            os.kill(os.getpid(), signal.SIGKILL)
        if "effect" in entry and self._witness is not None:
            self._witness.saw(entry["effect"])
        if "until" in entry:
            Path(entry["until"]).read_bytes()
        answer["result"].update(entry.get("result", {}))
        BEHAVIOURS[entry.get("then", "reply")](answer, entry)

    def _page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the tools: `page` of them (default: all)."""
        tools = self._script.get("tools", [{"name": "work", "inputSchema": {"type": "object"}}])
        first = int(cursor or 0)
        after = first + int(self._script.get("page", len(tools) or 1))
        page: dict[str, Any] = {"tools": tools[first:after]}
        if after < len(tools):
            page["nextCursor"] = str(after)
        return page


def main(words: list[str]) -> None:
    """Run a script from the command line, without argparse: it is 30 ms, and a suite starts hundreds of these."""
    match words:
        case ["--script", path]:
            ScriptedChild(json.loads(Path(path).read_text("utf-8"))).serve()
        case _:
            sys.exit("usage: python -m countermark.testkit.child --script FILE")


if __name__ == "__main__":
    main(sys.argv[1:])
