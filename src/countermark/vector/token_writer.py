"""Swatches written as design tokens (DTCG 2025.10) and as CSS custom properties."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from countermark.vector.document import Document
from countermark.vector.swatch import entries, swatches
from countermark.vector.token import ROOT, SWATCH

Json = dict[str, Any]

_CLASH: Final = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED: Final = re.compile(r"[{}]|^\$")


def colours(document: Document) -> dict[str, str]:
    """Return the swatches that have one RGB colour, by name, in the document's order."""
    return {one.name: one.colour for one in swatches(document) if one.colour is not None}


def aliases(document: Document) -> dict[str, str]:
    """Return the swatches that stand for another one by name, as long as both have one colour."""
    named = colours(document)
    said = {entry["name"]: (entry.get("countermark") or {}).get("alias") for entry in entries(document)}
    return {name: other for name, other in said.items() if other in named and named.get(name) == named[other]}


def dtcg(named: Mapping[str, str], standing: Mapping[str, str] | None = None) -> bytes:
    """Return a token file; dots in a swatch's name make groups, and a name that no token can have is remembered.

    A swatch in `standing` is written as an alias of the other one, where that one's name is a token's path.
    """
    tree: Json = {}
    for name, colour in named.items():
        parts = [_RESERVED.sub("-", part) or "-" for part in name.split(".")]
        group = tree
        for part in parts[:-1]:
            held = group.setdefault(part, {})
            if "$value" in held:  # a token that a group of the same name joins becomes the group's own
                held = group[part] = {ROOT: held}
            group = held
        place = parts[-1]
        while place in group and "$value" in group[place]:
            place += "-"
        other = (standing or {}).get(name, "")
        plain = other and not _RESERVED.search(other) and not any(one.startswith(f"{other}.") for one in named)
        token: Json = {"$type": "color", "$value": f"{{{other}}}" if plain else _value(colour)}
        if ".".join([*parts[:-1], place]) != name:
            token["$extensions"] = {SWATCH: {"swatch": name}}
        if place in group:
            group[place][ROOT] = token
        else:
            group[place] = token
    return (json.dumps(tree, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def css(named: Mapping[str, str]) -> bytes:
    """Return a style sheet with a custom property for each swatch."""
    return "".join(
        [":root {\n", *(f"  {prop}: {named[name]};\n" for name, prop in properties(named).items()), "}\n"]
    ).encode("utf-8")


def properties(named: Mapping[str, str]) -> dict[str, str]:
    """Return each swatch's custom property; names that would be the same get a number."""
    found: dict[str, str] = {}
    for name in named:
        base = "--" + (_CLASH.sub("-", name).strip("-") or "swatch")
        prop, number = base, 2
        while prop in found.values():
            prop, number = f"{base}-{number}", number + 1
        found[name] = prop
    return found


def _value(colour: str) -> Json:
    channels = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return {"colorSpace": "srgb", "components": [round(channel / 255, 6) for channel in channels], "hex": colour}
