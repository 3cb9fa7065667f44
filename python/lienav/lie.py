"""Lie groups over arrays of elements: one call for any number of them.

Each group is a namespace of functions. The last axes of an array are those of one element or vector, the axes before
are any and broadcast as numpy's do:

| group | element | algebra | points |
|---|---|---|---|
| `SO2` | angle, () | angle, () | (2,) |
| `SE2` | x, y, θ, (3,) | linear part first, (3,) | (2,) |
| `SO3` | rotation matrix, (3, 3) | rotation vector, (3,) | (3,) |
| `Quaternion` | unit quaternion x, y, z, w, (4,) | rotation vector, (3,) | (3,) |
| `SE3` | matrix, (4, 4) | angular part first, (6,) | (3,) |

Conventions are those of the crate lienav-lie: exp(ξ + δ) = exp(dexp(ξ, δ) + O(δ²)) exp(ξ), the left differential;
`compose(a, b)` acts on points as b first, then a. Angles are in radians.

>>> import numpy as np
>>> ends = SE2.exp(np.array([[1.0, 0.0, np.pi / 2], [1.0, 0.0, 0.0]]))
>>> bool(np.allclose(ends[0, :2], 2 / np.pi)), bool(np.allclose(SE2.log(ends)[1], [1.0, 0.0, 0.0]))
(True, True)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _lienav
from ._data import Floats, as_floats
from ._errors import WrongCall

__all__ = ["SE2", "SE3", "SO2", "SO3", "Group", "Quaternion"]


class Group:
    """The functions of one group; see the table of this module for shapes."""

    def __init__(self, name: str, element: tuple[int, ...], algebra: tuple[int, ...], point: tuple[int, ...]) -> None:
        self.name = name
        self.element = element
        """Shape of an element."""
        self.algebra = algebra
        """Shape of a vector of the algebra."""
        self.point = point
        """Shape of a point that it moves."""

    def __repr__(self) -> str:
        return f"<lienav.lie.{self.name}>"

    def _rows(self, given: npt.ArrayLike, shape: tuple[int, ...], what: str) -> tuple[Floats, tuple[int, ...]]:
        array = as_floats(given, f"{what} of {self.name}")
        outer = array.ndim - len(shape)
        if outer < 0 or array.shape[outer:] != shape:
            raise WrongCall(f"{what} of {self.name} has the shape {array.shape}; expected: (…, {str(shape)[1:]}")
        return array, array.shape[:outer]

    def _one(self, operation: str, a: npt.ArrayLike, shape: tuple[int, ...], result: tuple[int, ...]) -> Floats:
        array, outer = self._rows(a, shape, "the argument")
        rows = np.ascontiguousarray(array).reshape(-1, int(np.prod(shape)))
        return _lienav.lie(self.name, operation, rows).reshape(outer + result)

    def _two(
        self,
        operation: str,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        result: tuple[int, ...],
    ) -> Floats:
        first, outer_a = self._rows(a, shapes[0], "the first argument")
        second, outer_b = self._rows(b, shapes[1], "the second argument")
        try:
            outer = np.broadcast_shapes(outer_a, outer_b)
        except ValueError:
            raise WrongCall(f"{operation}: there are {outer_a} of the first and {outer_b} of the second") from None
        rows = [
            np.ascontiguousarray(np.broadcast_to(array, outer + shape)).reshape(-1, int(np.prod(shape)))
            for array, shape in ((first, shapes[0]), (second, shapes[1]))
        ]
        return _lienav.lie(self.name, operation, rows[0], rows[1]).reshape(outer + result)

    def exp(self, xi: npt.ArrayLike) -> Floats:
        """The exponential: (…, algebra) to (…, element)."""
        return self._one("exp", xi, self.algebra, self.element)

    def log(self, g: npt.ArrayLike) -> Floats:
        """The principal logarithm: (…, element) to (…, algebra)."""
        return self._one("log", g, self.element, self.algebra)

    def cayley(self, xi: npt.ArrayLike) -> Floats:
        """The Cayley map (I − ξ/2)⁻¹(I + ξ/2), or the map that agrees with it to second order."""
        return self._one("cayley", xi, self.algebra, self.element)

    def cayley_inv(self, g: npt.ArrayLike) -> Floats:
        """The ξ with cayley(ξ) = g; not finite where g turns by half a turn."""
        return self._one("cayley_inv", g, self.element, self.algebra)

    def inverse(self, g: npt.ArrayLike) -> Floats:
        """The inverse element."""
        return self._one("inverse", g, self.element, self.element)

    def compose(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
        """The product: on points, b first, then a."""
        return self._two("compose", a, b, (self.element, self.element), self.element)

    def act(self, g: npt.ArrayLike, point: npt.ArrayLike) -> Floats:
        """The moved points, (…, point)."""
        return self._two("act", g, point, (self.element, self.point), self.point)

    def adjoint(self, g: npt.ArrayLike, xi: npt.ArrayLike) -> Floats:
        """Ad_g(ξ)."""
        return self._two("adjoint", g, xi, (self.element, self.algebra), self.algebra)

    def coadjoint(self, g: npt.ArrayLike, mu: npt.ArrayLike) -> Floats:
        """Ad*_g(μ), with ⟨Ad*_g μ, ξ⟩ = ⟨μ, Ad_g ξ⟩."""
        return self._two("coadjoint", g, mu, (self.element, self.algebra), self.algebra)

    def _maps(self, operation: str, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        return self._two(operation, xi, eta, (self.algebra, self.algebra), self.algebra)

    def ad(self, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        """[ξ, η]."""
        return self._maps("ad", xi, eta)

    def coad(self, xi: npt.ArrayLike, mu: npt.ArrayLike) -> Floats:
        """ad*_ξ(μ), with ⟨ad*_ξ μ, η⟩ = ⟨μ, [ξ, η]⟩."""
        return self._maps("coad", xi, mu)

    def dexp(self, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        """dexp_ξ(η), the left one."""
        return self._maps("dexp", xi, eta)

    def dexp_inv(self, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        """dexp_ξ⁻¹(η)."""
        return self._maps("dexp_inv", xi, eta)

    def dexp_dual(self, xi: npt.ArrayLike, mu: npt.ArrayLike) -> Floats:
        """dexp*_ξ(μ)."""
        return self._maps("dexp_dual", xi, mu)

    def dexp_inv_dual(self, xi: npt.ArrayLike, mu: npt.ArrayLike) -> Floats:
        """(dexp_ξ⁻¹)*(μ)."""
        return self._maps("dexp_inv_dual", xi, mu)

    def dexp_right(self, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        """dexp_{−ξ}(η), the right one: exp(ξ + δ) = exp(ξ) exp(dexp_right(ξ, δ) + O(δ²))."""
        return self._maps("dexp_right", xi, eta)

    def dexp_right_inv(self, xi: npt.ArrayLike, eta: npt.ArrayLike) -> Floats:
        """dexp_{−ξ}⁻¹(η)."""
        return self._maps("dexp_right_inv", xi, eta)


SO2 = Group("SO2", (), (), (2,))
SE2 = Group("SE2", (3,), (3,), (2,))
SO3 = Group("SO3", (3, 3), (3,), (3,))
Quaternion = Group("Quaternion", (4,), (3,), (3,))
SE3 = Group("SE3", (4, 4), (6,), (3,))
