"""What the operations of one call have asked for and the settling has still to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from countermark.scene.document import Element
from countermark.scene.draft import Draft
from countermark.scene.element import Label, label_element
from countermark.scene.env import Env
from countermark.scene.relation import join


class Wish(NamedTuple):
    """One element is to refer to another; where in the call that was said."""

    element: str
    target: str
    pointer: str
    end: str = ""


class Pose(NamedTuple):
    """Where an element stood before the call."""

    x: float
    y: float
    width: float
    height: float
    angle: float


@dataclass(slots=True)
class Change:
    """A draft, and what is to be settled once all operations are read."""

    draft: Draft
    deleted: dict[str, None] = field(default_factory=dict)
    shifted: dict[str, Pose] = field(default_factory=dict)
    relabelled: dict[str, None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    fitted: dict[str, None] = field(default_factory=dict)
    bindings: dict[tuple[str, str], Wish] = field(default_factory=dict)
    rebound: dict[str, None] = field(default_factory=dict)
    contained: list[Wish] = field(default_factory=list)
    framed: dict[str, Wish] = field(default_factory=dict)
    pictured: list[Wish] = field(default_factory=list)

    @property
    def env(self) -> Env:
        """What the change is made with."""
        return self.draft.env

    def shift(self, name: str) -> None:
        """Remember where an element stands, before it is moved for the first time."""
        element = self.draft.get(name)
        if element is not None and name not in self.shifted:
            pose = (element["x"], element["y"], element["width"], element["height"], element.get("angle") or 0)
            self.shifted[name] = Pose(*pose)

    def bury(self, name: str) -> None:
        """Make an element a tombstone."""
        self.draft.edit(name)["isDeleted"] = True
        self.deleted[name] = None

    def add_label(self, container: Element, said: Label) -> None:
        """Bind new text to a container."""
        text = label_element(said, container, self.env)
        self.draft.add(text)
        join(self.draft, container["id"], text["id"], "text")
        self.labels[container["id"]] = text["id"]
        self.relabelled[container["id"]] = None
