"""The diagram that the agent draws: how a change gets in, in boxes with words in them and arrows that hold on."""

from __future__ import annotations

from typing import Any, Final

from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.cast import Cast
from countermark.surfaces.cli.demo.shell import Shell

SCENE: Final = "plan"
FILE: Final = f"{SCENE}.excalidraw"
CREATE: Final = "excalidraw_scene_create"
APPLY: Final = "excalidraw_scene_apply"
READ: Final = "excalidraw_scene_read"

FIRST: Final[list[dict[str, Any]]] = [
    {"type": "text", "x": 0, "y": 0, "text": "How a change gets in", "fontSize": 28},
    {"type": "ellipse", "id": "idea", "x": 0, "y": 80, "width": 140, "height": 90, "label": "Idea"},
    {"type": "rectangle", "id": "draft", "x": 260, "y": 80, "width": 160, "height": 90, "label": "Draft"},
    {"type": "diamond", "id": "review", "x": 600, "y": 60, "width": 180, "height": 130, "label": "Review"},
]
ARROWS: Final[list[dict[str, Any]]] = [
    {
        "op": "add",
        "element": {
            "type": "arrow",
            "id": id_,
            "x": x,
            "y": 125,
            "points": [[0, 0], [length, 0]],
            "startElementId": start,
            "endElementId": end,
            **({"label": label} if label else {}),
        },
    }
    for id_, x, length, start, end, label in (
        ("to-draft", 140, 120, "idea", "draft", ""),
        ("to-review", 420, 180, "draft", "review", "ready"),
    )
]


def begin(shell: Shell) -> None:
    """Make the workspace that all of it happens in."""
    also = f" && cd {place.SCENES}"
    shell.run("init", place.SCENES, also=also, why="one folder, with a key that signs and a grant that allows")
    shell.enter(place.SCENES)


def draw(on: Cast) -> None:
    """Let the agent draw, in two saves, and show what stands there then."""
    made = on.agent.have(CREATE, name=SCENE, request_id="draw-boxes", elements=FIRST)
    on.agent.have(APPLY, name=SCENE, expected_revision=made["revision"], request_id="draw-arrows", operations=ARROWS)
    on.shell.run("scene", "show", SCENE, why="what the scene holds, in words")
