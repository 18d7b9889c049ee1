"""Style sheets inside a drawing: their rules are laid on the elements that they mean, by the order of the cascade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.svg.css import Declaration, parsed
from countermark.vector.svg.parse import Element
from countermark.vector.svg.report import Report
from countermark.vector.svg.selector import Elements, UnknownSelectorError

MAX_TEXT: Final = 4 * 1024 * 1024
MAX_RULES: Final = 20_000

_NAME_LENGTH: Final = 80
_MEDIA: Final = frozenset({"", "all", "screen", "only screen"})


def apply(root: Element, report: Report) -> None:
    """Give every element the declarations of the rules that mean it (`Element.rules`), weakest first.

    A rule that cannot be read is a loss under its selector's name; other media and fonts are notes. Raise
    `input_too_large` for more than `MAX_TEXT` characters or `MAX_RULES` rules.
    """
    sheets = [element for element in root.walk() if element.tag == "style"]
    if not sheets:
        return
    if sum(len(element.text) for element in sheets) > MAX_TEXT:
        raise _too_large("The style sheets have", MAX_TEXT, "characters")
    elements = Elements(root)
    given: dict[int, list[tuple[tuple[int, int, int], int, Declaration]]] = {}
    owners: dict[int, Element] = {}
    order = 0
    for sheet in sheets:
        for prelude, name, block in _rules(sheet, report):
            order += 1
            if order > MAX_RULES:
                raise _too_large("The style sheets have", MAX_RULES, "rules")
            declared = list(parsed(block))
            try:
                found = list(elements.matching(prelude))
            except UnknownSelectorError as error:
                report.loss("style-sheet", sheet, f"The rule for {name} is not applied: {error}.", name=name)
                continue
            for specificity, meant in found:
                for element in meant:
                    owners[id(element)] = element
                    rows = given.setdefault(id(element), [])
                    rows.extend((specificity, order, declaration) for declaration in declared)
    for key, rows in given.items():
        rows.sort(key=lambda row: row[:2])
        owners[key].rules = tuple(row[2] for row in rows)


def _rules(sheet: Element, report: Report) -> Iterator[tuple[Any, str, str]]:
    """Yield the style rules of a sheet: prelude, name and the text of the block."""
    import tinycss2  # noqa: PLC0415 - only a drawing with a style sheet needs it

    kind = sheet.attributes.get("type", "text/css").strip().lower()
    read = tinycss2.parse_stylesheet(sheet.text, skip_comments=True, skip_whitespace=True)
    if kind not in {"", "text/css"} or not read:
        report.note("style-sheet", sheet, "The style sheet has no CSS rule.")
        return
    if sheet.attributes.get("media", "").strip().lower() not in _MEDIA:
        report.note("style-sheet", sheet, f"It is for other media: {sheet.attributes['media'][:60]}.")
        return
    yield from _of(read, sheet, report)


def _of(read: list[Any], sheet: Element, report: Report) -> Iterator[tuple[Any, str, str]]:
    import tinycss2  # noqa: PLC0415

    for rule in read:
        if rule.type == "qualified-rule":
            name = " ".join(tinycss2.serialize(rule.prelude).split())[:_NAME_LENGTH] or "{}"
            yield rule.prelude, name, tinycss2.serialize(rule.content)
        elif rule.type == "at-rule":
            said = " ".join(tinycss2.serialize(rule.prelude).split())[:_NAME_LENGTH]
            word = rule.lower_at_keyword
            if word == "media" and said.lower() in _MEDIA and rule.content is not None:
                inner = tinycss2.parse_stylesheet(
                    tinycss2.serialize(rule.content), skip_comments=True, skip_whitespace=True
                )
                yield from _of(inner, sheet, report)
            elif word in {"charset", "font-face", "keyframes", "media", "namespace", "page", "-webkit-keyframes"}:
                report.note("style-sheet", sheet, f"@{word} {said} says nothing here.".replace("  ", " "))
            else:
                report.loss("style-sheet", sheet, f"@{word} {said} is not applied.", name=f"@{word} {said}".strip())
        elif rule.type == "error":
            report.note("style-sheet", sheet, f"It has a fault: {rule.message}.")


def _too_large(what: str, most: int, unit: str) -> CountermarkError:
    return CountermarkError(
        "input_too_large", f"{what} more than {most} {unit}.", next_action="Leave out the rules that are not used."
    )
