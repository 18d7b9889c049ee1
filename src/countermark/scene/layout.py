"""Where the parts of a document stand in its text, and the same text with some parts exchanged.

For documents that the fast way of writing would respell (tabs, one line, CRLF, `1.0`, shared names): the text around
and between what is exchanged stays as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from countermark.scene.jsontext import Item, Member, decode, items, members, same, skip
from countermark.scene.spelling import HOUSE, Style, escaped, indent_at, quoted, spell, style_of

_Old = Sequence[Item | Member]


@dataclass(frozen=True, slots=True)
class Layout:
    """A document's text with its members, the items of `elements` and the members of `files`."""

    text: str
    members: list[Member]
    inner: Mapping[str, _Old]

    def value(self) -> dict[str, Any]:
        """Return the document; of members that share a name the last counts."""
        return {member.name: member.value for member in self.members}

    def with_parts(self, parts: Mapping[str, Any]) -> str:
        """Return the text with other `elements`, `appState` or `files`; raises `invalid_scene` as `spell` does."""
        last = {member.name: member for member in self.members}
        style = style_of(self.text, skip(self.text, 0), HOUSE)
        edits: list[tuple[int, int, str]] = []
        appended: list[str] = []
        for name, part in parts.items():
            member = last.get(name)
            if member is None:
                spelled = spell(part, style, style.unit, pointer=f"/{name}", depth=2)
                appended.append(f'"{name}"{style.colon}{spelled}')
            else:
                edits.append((member.start, member.end, self._part(member, part, style)))
        text = self.text
        if appended:
            at = self.members[-1].end
            gap = self.text[self.members[-2].end : self.members[-1].at] if len(self.members) > 1 else ","
            edits.append((at, at, "".join(gap + one for one in appended)))
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _part(self, member: Member, part: Any, style: Style) -> str:
        old = self.inner.get(member.name)
        indent = indent_at(self.text, member.start)
        if old is None:
            return spell(part, style, indent, pointer=f"/{member.name}", depth=2)
        opening, closing = self.text[member.start], self.text[member.end - 1]
        pieces = list(self._pieces(member.name, part, old, style, indent + style.unit))
        if not pieces:
            return opening + closing
        if old:
            head, tail = self.text[member.start + 1 : old[0].at], self.text[old[-1].end : member.end - 1]
            joint = self._gap(old, 0) if len(old) > 1 else "," + head
        else:
            head = style.newline and style.newline + indent + style.unit
            tail = style.newline and style.newline + indent
            joint = "," + head if head else style.comma
        out = [opening, head, pieces[0][0]]
        for (_, before), (text, place) in pairwise(pieces):
            own = before is not None and place == before + 1
            out += [self._gap(old, before) if own and before is not None else joint, text]
        return "".join([*out, tail, closing])

    def _gap(self, old: _Old, place: int) -> str:
        return self.text[old[place].end : old[place + 1].at]

    def _pieces(
        self, part_name: str, part: Any, old: _Old, fallback: Style, indent: str
    ) -> Iterator[tuple[str, int | None]]:
        """Yield the text of every item, with its old place where it stands for something that was there."""
        places = {id(item.value): place for place, item in enumerate(old)}
        known = {item.identity: place for place, item in enumerate(old) if isinstance(item.identity, str)}
        keyed = isinstance(part, dict)
        for name, value in part.items() if keyed else ((str(count), item) for count, item in enumerate(part)):
            identity = name if keyed else value.get("id")
            place = places.get(id(value))
            if place is not None and identity == old[place].identity:
                yield self.text[old[place].at : old[place].end], place
                continue
            place = known.get(identity) if isinstance(identity, str) else None
            like = old[-1 if place is None else place] if old else None
            style, inner = fallback, indent
            if like is not None and self.text[like.start] == "{":
                if place is not None and not keyed:
                    yield self._element(like, value, fallback, f"/{part_name}/{name}"), place
                    continue
                style, inner = style_of(self.text, like.start, fallback), indent_at(self.text, like.start)
            pointer = f"/{part_name}/{escaped(name)}"
            key = f"{quoted(name)}{style.colon}" if keyed else ""
            yield key + spell(value, style, inner, pointer=pointer, depth=3), place

    def _element(self, like: Item | Member, value: dict[str, Any], fallback: Style, pointer: str) -> str:
        """Return an element's text with the members exchanged that say something else than before."""
        text, start = self.text, like.start
        found, end = members(text, start)
        style, indent = style_of(text, start, fallback, found), indent_at(text, start)
        last = {member.name: place for place, member in enumerate(found)}
        if len(last) != len(found) or not found:
            return spell(value, style, indent, pointer=pointer, depth=3)
        out, head = [text[start]], text[start + 1 : found[0].at]
        joint = text[found[0].end : found[1].at] if len(found) > 1 else "," + head
        before = -2
        for name, member in value.items():
            place = last.get(name, -2)
            gap = text[found[before].end : found[place].at] if place == before + 1 > 0 else joint
            out.append(gap if len(out) > 1 else head)
            if place >= 0 and same(member, found[place].value):
                out.append(text[found[place].at : found[place].end])
            else:
                spelled = spell({name: member}, Style("", "", ",", style.colon), "", pointer=pointer, depth=3)[1:-1]
                if isinstance(member, dict | list):
                    inner = spell(member, style, indent + style.unit, pointer=f"{pointer}/{escaped(name)}", depth=4)
                    spelled = f"{quoted(name)}{style.colon}{inner}"
                out.append(spelled)
            before = place
        return "".join([*out, text[found[-1].end : end]])


def lay_out(text: str) -> Layout:
    """Return where the parts of a document stand; the text is valid JSON and an object."""
    inner: dict[str, _Old] = {}

    def value_of(name: str, text: str, start: int) -> tuple[Any, int]:
        inner.pop(name, None)  # of members that share a name the last counts
        if name == "elements" and text[start] == "[":
            found, end = items(text, start)
            inner[name] = found
            return [item.value for item in found], end
        if name == "files" and text[start] == "{":
            entries, end = members(text, start)
            inner[name] = entries
            return {entry.name: entry.value for entry in entries}, end
        return decode(text, start)

    found, _ = members(text, skip(text, 0), value_of)
    return Layout(text, found, inner)
