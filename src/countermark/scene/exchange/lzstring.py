"""The packing that Obsidian's drawings use: LZ-string in base64, by its public description; unpacked up to a cap.

A stream of bits, six a character. A code names a phrase seen before, a new character of 8 or 16 bits, or the end;
each code adds the phrase before and the first character of this one as the next phrase.
"""

from __future__ import annotations

from typing import Final

from countermark.scene.exchange.inflate import beyond, broken

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_SIX: Final = {ord(letter): f"{place & 63:06b}" for place, letter in enumerate(_ALPHABET)}
_BYTE, _PAIR, _END = 0, 1, 2
_WIDTHS: Final = {_BYTE: 8, _PAIR: 16}


def unpacked(packed: str, cap: int) -> str:
    """Return the text in packed characters, white space between them ignored; its characters are UTF-16 units, paired.

    Raises `invalid_scene` for what is no such text or cut short, `too_large` past `cap` characters.
    """
    letters = "".join(packed.split())
    if not letters or letters.strip(_ALPHABET):
        raise broken("drawing", "is packed in characters that do not belong there")
    try:
        units = _units(letters.translate(_SIX), cap)
    except (IndexError, ValueError) as error:
        raise broken("drawing", "cannot be unpacked: it is cut short or damaged") from error
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Codes:
    """The codes in a stream of bits, which grow by a bit whenever the phrases have used up all of their width."""

    def __init__(self, bits: str) -> None:
        self.bits, self.at = bits, 0
        self.width, self.left = 2, 1

    def take(self, width: int) -> int:
        """Return the next number of so many bits, the first of them the lowest; raise `ValueError` behind the end."""
        if self.at + width > len(self.bits):
            raise ValueError
        self.at += width
        return int(self.bits[self.at - width : self.at][::-1], 2)

    def grew(self) -> None:
        """Count one more phrase."""
        self.left -= 1
        if not self.left:
            self.left, self.width = 1 << self.width, self.width + 1

    def character(self, code: int) -> str:
        """Return the new character that a code announces."""
        return chr(self.take(_WIDTHS[code]))


def _units(bits: str, cap: int) -> str:
    codes = _Codes(bits)
    kind = codes.take(codes.width)
    if kind == _END:
        return ""
    if kind not in _WIDTHS:
        raise ValueError
    last = codes.character(kind)
    phrases, found, size = ["", "", "", last], [last], 1
    codes.grew()
    while (code := codes.take(codes.width)) != _END:
        if code in _WIDTHS:
            phrases.append(codes.character(code))
            code = len(phrases) - 1
            codes.grew()
        phrase = last + last[0] if code == len(phrases) else phrases[code]
        size += len(phrase)
        if size > cap:
            raise beyond(cap, "The drawing")
        found.append(phrase)
        # Every phrase is one that was given out, and one character more: together they are no more than the cap allows.
        phrases.append(last + phrase[0])
        codes.grew()
        last = phrase
    return "".join(found)
