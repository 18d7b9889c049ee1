"""Affine maps of the plane, in the order of numbers that SVG, PDF and the native format share."""

from __future__ import annotations

import math
from typing import NamedTuple

Point = tuple[float, float]


class Matrix(NamedTuple):
    """An affine map: x' = a·x + c·y + e, y' = b·x + d·y + f, in the order every format writes it."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def __matmul__(self, other: Matrix) -> Matrix:
        """Return the map that applies `other` first, then this one."""
        return Matrix(
            self.a * other.a + self.c * other.b,
            self.b * other.a + self.d * other.b,
            self.a * other.c + self.c * other.d,
            self.b * other.c + self.d * other.d,
            self.a * other.e + self.c * other.f + self.e,
            self.b * other.e + self.d * other.f + self.f,
        )

    def apply(self, x: float, y: float) -> Point:
        """Map a point."""
        return (self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f)

    @property
    def determinant(self) -> float:
        """The signed factor by which areas grow."""
        return self.a * self.d - self.b * self.c

    def inverse(self) -> Matrix:
        """Return the inverse map; raise `ZeroDivisionError` for a map that flattens the plane."""
        det = self.determinant
        a, b, c, d = self.d / det, -self.b / det, -self.c / det, self.a / det
        return Matrix(a, b, c, d, -(a * self.e + c * self.f), -(b * self.e + d * self.f))

    @property
    def is_similarity(self) -> bool:
        """Say whether circles stay circles, to one part in a million: then a stroke keeps one width."""
        size = max(abs(self.a), abs(self.b), abs(self.c), abs(self.d)) * 1e-6
        turned = abs(self.a - self.d) <= size and abs(self.b + self.c) <= size
        mirrored = abs(self.a + self.d) <= size and abs(self.b - self.c) <= size
        return turned or mirrored

    @property
    def is_finite(self) -> bool:
        """Say whether every number of the map is finite."""
        return all(math.isfinite(value) for value in self)


IDENTITY = Matrix()
