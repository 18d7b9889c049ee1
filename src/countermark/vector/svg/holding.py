"""What a document holds by name beside its layers: the patterns and pictures that an import adds to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from countermark.vector.affine import Box
from countermark.vector.container import Json
from countermark.vector.embedded import key_for


@dataclass(slots=True)
class Holding:
    """Patterns in the order of their first use, and pictures by key with their type and bytes; `taken` are names."""

    taken: set[str] = field(default_factory=set)
    patterns: list[Json] = field(default_factory=list)
    pictures: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def pattern(self, wanted: str, art: list[Json], tile: Box) -> str:
        """Hold a pattern tile and return its name, which is the wanted one where nothing else has it."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted} {number}"
        self.taken.add(name)
        self.patterns.append({"name": name, "art": art, "tile": tile._asdict()})
        return name

    def picture(self, mime: str, data: bytes) -> str:
        """Hold a picture and return its key."""
        key = key_for(data)
        self.pictures.setdefault(key, (mime, data))
        return key
