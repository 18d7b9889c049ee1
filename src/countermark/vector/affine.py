"""Points, boxes and affine maps of the plane, y down; maps in the order that SVG, PDF and the native format share."""

from __future__ import annotations

import math
from typing import NamedTuple

Point = tuple[float, float]


class Box(NamedTuple):
    """An upright rectangle; x0 <= x1 and y0 <= y1."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """The horizontal extent."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """The vertical extent."""
        return self.y1 - self.y0

    @property
    def from_unit(self) -> Matrix:
        """The map that lays the unit square onto the box: what SVG calls `objectBoundingBox`."""
        return Matrix(self.width, 0.0, 0.0, self.height, self.x0, self.y0)

    def seen_through(self, matrix: Matrix) -> Box:
        """Return the upright box around the mapped corners."""
        corners = [matrix.apply(x, y) for x in (self.x0, self.x1) for y in (self.y0, self.y1)]
        xs, ys = zip(*corners, strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))


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

    def about(self, x: float, y: float) -> Matrix:
        """Return the same map with its origin moved to a point."""
        return Matrix(e=x, f=y) @ self @ Matrix(e=-x, f=-y)

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
