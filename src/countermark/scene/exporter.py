"""The render child: Node with the editor's own export, warm for as long as its owner asks again within some minutes.

It reads font pieces and nothing else, and all it is told and all it says goes over its standard streams. A render
changes nothing, so a child that broke is simply started anew. What it has to measure is measured here, by `typeset`.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child
from countermark.kernel.stdio import Ambiguous, Answered, Reply, RpcError, Session, ToolError
from countermark.scene import node, slot
from countermark.typeset import FAMILIES, measure

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

TOOL: Final = "draw"
TAKES: Final = frozenset({"scene", "dark", "fonts", "embed", "background", "scale", "padding", "widths"})
SECONDS: Final = 120
"""For one scene. Ten thousand elements take about four seconds."""

LINE_LIMIT: Final = 96 << 20
"""As much as one answer may have: a scene's largest size as embedded pictures, and the scene itself beside it."""

ROUNDS: Final = 64
"""The note on an embedded page is broken into lines by asking for widths again and again; none has more lines."""

_GRACE_SECONDS: Final = 1.0
_FONT: Final = re.compile(r"([\d.e+-]+)px ([^,]+)")
_NUMBERS: Final = {family.name: number for number, family in FAMILIES.items()}


class Look(NamedTuple):
    """How a scene is exported. `scale` multiplies the size that the SVG states, `padding` is in scene units."""

    dark: bool = False
    fonts: bool = True
    embed: bool = False
    background: bool = True
    scale: float = 1.0
    padding: int = 10


class Exported(NamedTuple):
    """An SVG as the editor's `outerHTML` has it, and what the editor wrote into its console meanwhile."""

    svg: str
    complaints: tuple[str, ...]


class Exporter:
    """One warm child of a workspace. Safe for threads: they take turns."""

    def __init__(self, workspace: Workspace) -> None:
        """Start nothing yet."""
        self._workspace = workspace
        self._turn = threading.Lock()
        self._child: Child | None = None
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)  # an owner that forgets to close leaves no child
        self._deadline = 0.0
        self._session: Session | None = None

    def export(self, scene: str, look: Look) -> Exported:
        """Return the SVG of a document's text.

        Raises `part_unavailable` where Node or the bundle is missing, `deadline_exceeded`, and `child_failed` when the
        editor's code fails on the scene.
        """
        with self._turn:
            asked = {"scene": scene, **look._asdict(), "scale": repr(look.scale), "widths": []}
            for _ in range(ROUNDS):
                said = self._asked(asked)
                if "unmeasured" not in said:
                    return Exported(str(said["svg"]), tuple(map(str, said["complaints"])))
                asked["widths"] = [_measured(one) for one in said["unmeasured"]]
        raise CountermarkError(
            "child_failed",
            f"The editor asked for widths of text more than {ROUNDS} times.",
            next_action="Shorten the link of the embedded page.",
        )

    def close(self) -> None:
        """End the child."""
        with self._turn:
            self._end()

    def _asked(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        warm = self._session is not None
        reply = self._call(asked)
        if isinstance(reply, Ambiguous) and warm and not self._overdue():
            reply = self._call(asked)  # it ended while nobody asked
        match reply:
            case Answered(structured=structured) if structured is not None:
                return structured
            case ToolError(message=message):
                raise _failed(message)
            case RpcError(message=message):
                raise _failed(message)
            case Ambiguous() if self._overdue():
                raise CountermarkError(
                    "deadline_exceeded",
                    f"The editor had not drawn the scene after {SECONDS} seconds and was stopped.",
                    next_action="Divide the scene into smaller ones.",
                )
            case Ambiguous(reason=reason):
                raise _failed(reason)
        raise _failed("it answered without a result")

    def _call(self, asked: Mapping[str, Any]) -> Reply:
        clock = self._workspace.clock
        deadline = self._deadline = clock.monotonic() + SECONDS
        session = self._session or self._start(deadline)
        try:
            reply = session.call(TOOL, asked, deadline)
        except CountermarkError as error:
            self._end()
            if error.code != "child_failed":
                raise
            return Ambiguous(error.sentence)
        except BaseException:
            self._end()
            raise
        if isinstance(reply, Ambiguous):
            self._end()
        return reply

    def _overdue(self) -> bool:
        return self._workspace.clock.monotonic() >= self._deadline

    def _start(self, deadline: float) -> Session:
        parts = node.find()
        with slot.held(self._workspace) as place:
            child = place.start(parts.command(), cwd=parts.bundle.parent)
        try:
            session = Session(child, self._workspace.clock, line_limit=LINE_LIMIT)
            offered = session.tools(deadline).tools
            if TOOL not in offered or set(offered[TOOL].input_schema.get("properties", ())) != TAKES:
                raise node.missing("the package countermark-editor is of another version", node.BUILD)  # noqa: TRY301
        except BaseException as error:
            said = child.stderr.decode("utf-8", "replace").strip()
            child.close()
            if isinstance(error, CountermarkError) and error.code == "child_failed":
                raise _not_started(said) from error
            raise
        self._held.callback(child.close)
        self._child, self._session = child, session
        return session

    def _end(self) -> None:
        child, self._child, self._session = self._child, None, None
        if child is not None:
            with suppress(CountermarkError):
                child.end_input()
                child.stop(_GRACE_SECONDS)
            self._held.close()


def _measured(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return a text's width in px; of a size that is nothing, nothing."""
    font, text = str(asked["font"]), str(asked["text"])
    found = _FONT.match(font)
    if found is None:
        raise _failed(f"it measures in {font!r}")
    size = float(found[1])
    width = measure(text, _NUMBERS.get(found[2], 0), size).width if size > 0 else 0.0
    return {"font": font, "text": text, "width": repr(width)}


def _failed(why: str) -> CountermarkError:
    return CountermarkError(
        "child_failed",
        f"The editor could not draw the scene: {why}",
        next_action="Look at the scene with `countermark scene show`, and repair it: `countermark scene repair`.",
    )


def _not_started(said: str) -> CountermarkError:
    last = said.splitlines()[-1][:200] if said else "it said nothing"
    return CountermarkError("child_failed", f"Node did not start the editor's export: {last}.", next_action=node.EXTRA)
