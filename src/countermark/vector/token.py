"""Design tokens (DTCG 2025.10): colours by name, in groups, as aliases of one another; read whole or refused by name.

A token's path, joined with dots, is the name of the swatch it gives its colour to: `brand.primary`. Names and values
come from elsewhere and are data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from countermark.kernel.canon import parse_strict
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.place import shown
from countermark.vector.colourspace import SPACES, srgb

MAX_BYTES: Final = 4 << 20
MAX_TOKENS: Final = 4096
MAX_DEPTH: Final = 64
TYPES: Final = frozenset(
    {
        "border",
        "color",
        "cubicBezier",
        "dimension",
        "duration",
        "fontFamily",
        "fontWeight",
        "gradient",
        "number",
        "shadow",
        "strokeStyle",
        "transition",
        "typography",
    }
)
ROOT: Final = "$root"
SWATCH: Final = "dev.countermark"
_CHANNELS: Final = 3

for _code in ("token_alias_loop", "token_alias_unknown", "token_type_unknown", "token_value_invalid"):
    register(Ending.FAILED, _code)

Json = dict[str, Any]


class Colour(NamedTuple):
    """A colour token: its swatch's name, sRGB components, the alias it is of, and what was narrowed."""

    name: str
    red: float
    green: float
    blue: float
    alias: str
    notice: str


class Tokens(NamedTuple):
    """What a file holds for swatches, and the tokens that say nothing of a colour, with why."""

    colours: tuple[Colour, ...]
    skipped: tuple[tuple[str, str], ...]


def read(data: bytes) -> Tokens:
    """Read a token file.

    Raise `input_invalid` for what is no such file, `token_type_unknown`, `token_alias_unknown`, `token_alias_loop` and
    `token_value_invalid` with the token's name.
    """
    if len(data) > MAX_BYTES:
        raise CountermarkError(
            "input_too_large", f"The token file has {len(data)} bytes; {MAX_BYTES} are read.", next_action="Split it."
        )
    tree = parse_strict(data, what="The token file")
    if not isinstance(tree, dict):
        raise CountermarkError(
            "input_invalid",
            "The token file is not a JSON object.",
            next_action="Write groups and tokens (DTCG 2025.10).",
        )
    found = {path: (token, kind) for path, token, kind in _walk(tree, (), None)}
    if len(found) > MAX_TOKENS:
        raise CountermarkError(
            "input_too_large",
            f"The token file has {len(found)} tokens; {MAX_TOKENS} are read.",
            next_action="Split it.",
        )
    colours, skipped = [], []
    for path in found:
        kind, value, chain = _resolved(path, found)
        if kind != "color":
            skipped.append((".".join(path), f"a {kind}, which no swatch holds" if kind else "has no type"))
            continue
        made = _colour(path, value)
        if made is None:
            skipped.append((".".join(path), "is not opaque, which no swatch is"))
            continue
        name = _swatch_of(found[path][0]) or _name(path)
        alias = _name(chain[-1]) if len(chain) > 1 else ""
        colours.append(Colour(name, *made[:3], alias, made[3]))
    _check_names(colours)
    return Tokens(tuple(colours), tuple(skipped))


Path = tuple[str, ...]


def _walk(group: Json, above: Path, kind: Any) -> Iterator[tuple[Path, Json, Any]]:
    """Yield every token with its path and the type it has or inherits."""
    if len(above) > MAX_DEPTH:
        raise _invalid("input_invalid", above[:3], f"lies deeper than {MAX_DEPTH} groups", "Flatten the groups.")
    kind = group.get("$type", kind)
    if "$extends" in group:
        raise _invalid("token_value_invalid", above, "extends another group", "Write its tokens out as aliases.")
    for name, held in group.items():
        if name.startswith("$") and name != ROOT:
            continue
        path = (*above, name)
        if any(character in name for character in "{}.") or not name.strip() or not name.isprintable():
            raise _invalid("token_value_invalid", path, "is no name for a token or a group", "Rename it.")
        if not isinstance(held, dict):
            raise _invalid("token_value_invalid", path, "is neither a token nor a group", "Write an object.")
        if "$value" in held or "$ref" in held:
            own = held.get("$type", kind)
            if own is not None and own not in TYPES:
                raise _invalid("token_type_unknown", path, f"has the type {str(own)[:40]!r}", "Use a type of 2025.10.")
            yield path, held, own
        else:
            yield from _walk(held, path, kind)


def _resolved(path: Path, found: dict[Path, tuple[Json, Any]]) -> tuple[Any, Any, list[Path]]:
    """Follow aliases from a token; return its type, its value, and the tokens on the way."""
    chain = [path]
    token, kind = found[path]
    while True:
        target = _target(chain[-1], token)
        if target is None:
            return kind, token.get("$value"), chain
        if target not in found and (*target, ROOT) in found:
            target = (*target, ROOT)
        if target not in found:
            raise _invalid(
                "token_alias_unknown", path, f"stands for {'.'.join(target)!r}, which is not there", "Add it."
            )
        if target in chain:
            way = " → ".join(".".join(one) for one in [*chain, target])
            raise _invalid("token_alias_loop", path, f"stands for itself: {way}", "Give one of them a value.")
        chain.append(target)
        token, own = found[target]
        kind = kind if kind is not None else own


def _target(path: Path, token: Json) -> Path | None:
    value = token.get("$value")
    reference = token.get("$ref", value.get("$ref") if isinstance(value, dict) else None)
    if isinstance(reference, str):
        parts = reference.removeprefix("#/").removesuffix("/$value").split("/")
        if not reference.startswith("#/"):
            raise _invalid("token_value_invalid", path, "refers outside of its file", "Refer to a token in it.")
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return tuple(value[1:-1].split("."))
    return None


def _colour(path: Path, value: Any) -> tuple[float, float, float, str] | None:
    """Return sRGB components and a notice where they were narrowed; None for a colour that is not opaque."""
    if isinstance(value, str):
        said = "has the colour as text; since 2025.10 a colour is an object"
        raise _invalid("token_value_invalid", path, said, 'Write {"colorSpace": "srgb", "components": [0, 0.34, 1]}.')
    if not isinstance(value, dict):
        raise _invalid("token_value_invalid", path, "has a value that is no colour", "Write a colour object.")
    space, components, alpha = value.get("colorSpace"), value.get("components"), value.get("alpha", 1)
    if space not in SPACES:
        raise _invalid(
            "token_value_invalid", path, f"names the colour space {str(space)[:40]!r}", "Name one of 2025.10."
        )
    good = isinstance(components, list) and len(components) == _CHANNELS
    if not good or not all(one == "none" or _number(one) for one in components or ()) or not _number(alpha):
        raise _invalid("token_value_invalid", path, "has components that are not three numbers", "Correct them.")
    if alpha < 1:
        return None
    made = srgb(space, [None if one == "none" else float(one) for one in components or ()])
    notice = ""
    if made.distance:
        notice = f"lies outside of sRGB in {space}; narrowed by {made.distance:.1f} (CIEDE2000)"
    return made.red, made.green, made.blue, notice


def _number(value: Any) -> bool:
    return type(value) in {int, float} and math.isfinite(value)


def _name(path: Path) -> str:
    return ".".join(path[:-1] if path[-1] == ROOT else path)


def _swatch_of(token: Json) -> str | None:
    """Return the swatch's own name, which a token that was written here remembers."""
    said = token.get("$extensions", {})
    held = said.get(SWATCH, {}) if isinstance(said, dict) else {}
    name = held.get("swatch") if isinstance(held, dict) else None
    return name if isinstance(name, str) else None


def _check_names(colours: list[Colour]) -> None:
    seen: set[str] = set()
    for one in colours:
        if one.name in seen:
            raise _invalid("token_value_invalid", (one.name,), "is the name of two swatches", "Rename one of them.")
        seen.add(one.name)


def _invalid(code: str, path: Path, said: str, following: str) -> CountermarkError:
    name = shown(".".join(path)[:120])
    return CountermarkError(code, f"The token {name} {said}.", next_action=following, details={"token": name})
