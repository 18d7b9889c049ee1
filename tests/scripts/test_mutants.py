"""The mutants fit the sources they break; running them all is `make bench`'s."""

from __future__ import annotations

import ast

import mutants
import pytest


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_has_one_place_and_stays_a_program(mutant: mutants.Mutant) -> None:
    ast.parse(mutants.patched(mutant, mutants.ROOT))
    assert all((mutants.ROOT / test).is_file() for test in mutant.tests)


def test_a_mutant_without_a_place_is_refused() -> None:
    lost = mutants.MUTANTS[0]._replace(old="no such line")
    with pytest.raises(ValueError, match="0 times"):
        mutants.patched(lost, mutants.ROOT)
