"""Which elements a CSS selector means, in time that no selector can blow up.

Compound selectors are compiled by cssselect2; combinators are followed here with every answer kept, since a list of
descendant combinators would otherwise be tried against every list of ancestors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from xml.etree import ElementTree as ET

from countermark.kernel.errors import CountermarkError
from countermark.vector.svg.parse import SVG, Element

MAX_STEPS: Final = 20_000_000

_NESTED: Final = ("NegationSelector", "MatchesAnySelector", "SpecificityAdjustmentSelector", "RelationalSelector")


class UnknownSelectorError(ValueError):
    """A selector that is not understood, or that is left out on purpose."""


class Elements:
    """The elements of a file as selectors see them."""

    def __init__(self, root: Element) -> None:
        """Mirror the tree once."""
        from cssselect2 import ElementWrapper  # noqa: PLC0415 - only a drawing with a style sheet needs it

        mirrored = _mirror(root)
        self._pairs = list(zip(ElementWrapper.from_xml_root(mirrored).iter_subtree(), root.walk(), strict=True))
        self._by_name: dict[str, list[int]] = {}
        self._by_id: dict[str, list[int]] = {}
        self._by_class: dict[str, list[int]] = {}
        for index, (wrapper, _) in enumerate(self._pairs):
            self._by_name.setdefault(wrapper.local_name, []).append(index)
            if wrapper.id is not None:
                self._by_id.setdefault(wrapper.id, []).append(index)
            for name in wrapper.classes:
                self._by_class.setdefault(name, []).append(index)
        self._steps = 0

    def matching(self, prelude: Any) -> Iterator[tuple[tuple[int, int, int], list[Element]]]:
        """Yield for each selector of a list its specificity and the elements it means.

        `prelude` is tinycss2's. Raise `UnknownSelectorError` for a list with a selector that is not understood, and
        `input_too_large` when the file's selectors take more than `MAX_STEPS` looks at an element.
        """
        from cssselect2 import SelectorError  # noqa: PLC0415
        from cssselect2.parser import parse  # noqa: PLC0415

        try:
            selectors = list(parse(prelude))
        except SelectorError as error:
            raise UnknownSelectorError(str(error)) from error
        for selector in selectors:
            if selector.pseudo_element is None:
                yield tuple(selector.specificity), self._found(_Compiled(selector.parsed_tree))

    def _found(self, compiled: _Compiled) -> list[Element]:
        last = compiled.parts[-1]
        if last.id is not None:
            candidates: Any = self._by_id.get(last.id, ())
        elif last.class_name is not None:
            candidates = self._by_class.get(last.class_name, ())
        elif last.local_name is not None:
            candidates = self._by_name.get(last.local_name, ())
        else:
            candidates = range(len(self._pairs))
        known: dict[tuple[int, int], bool] = {}
        return [
            self._pairs[index][1]
            for index in candidates
            if self._matches(compiled, len(compiled.parts) - 1, self._pairs[index][0], known)
        ]

    def _matches(self, compiled: _Compiled, part: int, wrapper: Any, known: dict[tuple[int, int], bool]) -> bool:
        key = (part, id(wrapper))
        if key not in known:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise CountermarkError(
                    "input_too_large",
                    "The style sheet's selectors take too long against this many elements.",
                    next_action="Simplify the style sheet, or put the styles on the elements themselves.",
                )
            found = bool(compiled.parts[part].test(wrapper))
            if found and part:
                near = self._near(compiled.combinators[part - 1], wrapper)
                found = any(self._matches(compiled, part - 1, other, known) for other in near)
            known[key] = found
        return known[key]

    def _near(self, combinator: str, wrapper: Any) -> Iterator[Any]:
        along = "parent" if combinator in {" ", ">"} else "previous"
        other = getattr(wrapper, along)
        while other is not None:
            self._steps += 1
            yield other
            other = getattr(other, along) if combinator in {" ", "~"} else None


class _Compiled:
    """One selector as compound parts with the combinators between them."""

    def __init__(self, tree: Any) -> None:
        from cssselect2.compiler import CompiledSelector  # noqa: PLC0415
        from cssselect2.parser import CombinedSelector, Selector  # noqa: PLC0415

        compounds, self.combinators = [], []
        while isinstance(tree, CombinedSelector):
            compounds.append(tree.right)
            self.combinators.append(tree.combinator)
            tree = tree.left
        compounds.append(tree)
        self.combinators.reverse()
        for compound in compounds:
            _check_nested(compound)
        try:
            self.parts = [CompiledSelector(Selector(compound)) for compound in reversed(compounds)]
        except ValueError as error:
            raise UnknownSelectorError(str(error)) from error


def _check_nested(compound: Any) -> None:
    """Refuse functions of selectors that hold more than compounds: they would be tried in every combination."""
    for simple in compound.simple_selectors:
        name = type(simple).__name__
        if name == "RelationalSelector":
            message = ":has() is not read"
            raise UnknownSelectorError(message)
        if name in _NESTED:
            for held in simple.selector_list:
                tree = getattr(held, "parsed_tree", held)
                inner = getattr(tree, "simple_selectors", None)
                if inner is None or any(type(one).__name__ in _NESTED for one in inner):
                    message = "a selector within a selector is not read beyond one compound"
                    raise UnknownSelectorError(message)


def _mirror(root: Element) -> Any:
    made: dict[int, Any] = {}
    for element in root.walk():
        tag = element.tag if element.tag.startswith("{") else f"{{{SVG}}}{element.tag}"
        attributes = {name: value for name, value in element.attributes.items() if not name.startswith("xlink:")}
        here = made[id(element)] = ET.Element(tag, attributes)
        if element.parent is not None and id(element.parent) in made:
            made[id(element.parent)].append(here)
    return made[id(root)]
