"""Where the editor 0.18.1 may break a line: after spaces and hyphens, around CJK characters, around emoji.

The rules are those of its line wrapping (`element/textWrapping` of that version): each looks at the character before
and the one after a place, so a place is a pair of character classes here.
"""

from __future__ import annotations

import unicodedata
from enum import IntFlag
from functools import cache, lru_cache
from typing import Any, Final

from countermark.typeset.pieces import require

SPACE: Final = frozenset("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
"""White space as ECMAScript's `\\s` knows it; Python's differs by the separators U+001C to U+001F, U+0085, U+FEFF."""


class Kind(IntFlag):
    """What a character is to the rules; most are nothing."""

    SPACE = 1
    HYPHEN = 2
    OPENING = 4
    CLOSING = 8
    CJK = 16
    CJK_OPENING = 32
    CJK_CLOSING = 64
    CURRENCY = 128


_MARKS: Final = {
    Kind.SPACE: SPACE,
    Kind.HYPHEN: frozenset("-"),
    Kind.OPENING: frozenset("<([{"),
    Kind.CLOSING: frozenset(">)]}.,:;!?…/"),
    Kind.CJK: frozenset("\uff40\uff07\uff3e〃〰〆\uff03\uff06\uff0a\uff0b\uff0dー\uff0f\uff3c\uff1d\uff5c\uffe4〒￢￣"),
    Kind.CJK_OPENING: frozenset("\uff08\uff3b\uff5b〈《｟｢「『【〖\u3014〘〚\uff1c〝"),
    Kind.CJK_CLOSING: frozenset(
        "\uff09\uff3d\uff5d〉》｠｣」』】〗\u3015〙〛\uff1e。\uff0e\uff0c、〟‥\uff1f\uff01\uff1a\uff1b・〜〞"
    ),
    Kind.CURRENCY: frozenset("￥￦￡￠\uff04"),
}
_JOINER: Final = r"(?:\p{Emoji_Modifier}|\uFE0F\u20E3?|[\U000E0020-\U000E007E]+\U000E007F)?"
_FLAG: Final = r"\p{Regional_Indicator}\p{Regional_Indicator}"
_PICTURE: Final = r"[\p{Extended_Pictographic}\p{Emoji_Presentation}]"
_EMOJI: Final = rf"{_FLAG}|{_PICTURE}{_JOINER}(?:\u200D(?:{_FLAG}|\p{{Emoji}}{_JOINER}))*"
_LAST_PLAIN: Final = "\u00a8"  # the emoji, and all that is CJK, lie behind it


def tokens(line: str) -> list[str]:
    """Cut a line, in composed form (NFC), into what may not be broken; white space is a token of its own."""
    line = unicodedata.normalize("NFC", line)
    found: list[str] = []
    start = at = 0
    while at < len(line):
        character = line[at]
        if character > _LAST_PLAIN and (emoji := _emoji().match(line, at)):
            found += [line[start:at], emoji.group()]
            start = at = emoji.end()
            continue
        if at > start and _may_break(kind(line[at - 1]), kind(character)):
            found.append(line[start:at])
            start = at
        at += 1
    return [token for token in (*found, line[start:]) if token]


def has_emoji(word: str) -> bool:
    """Return whether an emoji is anywhere in a word: such a word is never cut."""
    return not word.isascii() and _emoji().search(word) is not None


@lru_cache(8192)
def kind(character: str) -> Kind:
    """Return what a character is to the rules."""
    found = Kind(0)
    for one, characters in _MARKS.items():
        if character in characters:
            found |= one
    return found | Kind.CJK if character > _LAST_PLAIN and _cjk().match(character) else found


@lru_cache(4096)
def _may_break(before: Kind, after: Kind) -> bool:
    if (before | after) & Kind.SPACE or before & Kind.HYPHEN:
        return True
    return bool(
        (after & (Kind.CJK | Kind.CURRENCY) and not before & (Kind.OPENING | Kind.CJK_OPENING))
        or (before & Kind.CJK and not after & (Kind.HYPHEN | Kind.CLOSING | Kind.CJK_CLOSING))
        or (after & Kind.CJK_OPENING and not before & (Kind.OPENING | Kind.CJK_OPENING))
        or (before & Kind.CJK_CLOSING and not after & (Kind.CLOSING | Kind.CJK_CLOSING))
        or (before & Kind.CLOSING and after & Kind.OPENING)
    )


@cache
def _emoji() -> Any:
    return require("regex").compile(_EMOJI)


@cache
def _cjk() -> Any:
    return require("regex").compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]")
