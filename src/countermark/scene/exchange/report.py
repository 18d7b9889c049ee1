"""What was done to a document on its way in, in words: nothing is repaired, dropped or left wrong without a note."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from countermark.scene.spelling import shown

Deed = Literal["repaired", "dropped", "left"]
_WORDS: Final = {None: "null", True: "true", False: "false"}


class Note(NamedTuple):
    """One thing that was done, and to whom: an element by its id, else a place in the document.

    `repaired` was changed into what is sound, `dropped` is not in the scene, `left` is in it as it was though something
    is odd about it.
    """

    deed: Deed
    about: str
    what: str

    def wire(self) -> dict[str, Any]:
        """Return its JSON form."""
        return {"deed": self.deed, "about": self.about, "what": self.what}


@dataclass
class Report:
    """The notes of one import, in the order in which things were done."""

    notes: list[Note] = field(default_factory=list)

    def repaired(self, about: str, what: str) -> None:
        """Note what was changed."""
        self.notes.append(Note("repaired", about, what))

    def dropped(self, about: str, what: str) -> None:
        """Note what is not in the scene, and why."""
        self.notes.append(Note("dropped", about, what))

    def left(self, about: str, what: str) -> None:
        """Note what is odd and stands as it was."""
        self.notes.append(Note("left", about, what))

    def counts(self) -> dict[Deed, int]:
        """Return how many notes there are of each kind."""
        found = Counter(note.deed for note in self.notes)
        return {"repaired": found["repaired"], "dropped": found["dropped"], "left": found["left"]}


def worded(value: Any) -> str:
    """Return a value as the report says it: as JSON where a word of JSON is short, cut where it is long."""
    return _WORDS[value] if value is None or isinstance(value, bool) else shown(value)
