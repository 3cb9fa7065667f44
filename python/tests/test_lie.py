"""Lie groups over arrays: the laws, and matrices to compare with."""

import numpy as np
import pytest

import lienav
from lienav.lie import SE2, SE3, SO2, SO3, Quaternion

GROUPS = [SO2, SE2, SO3, Quaternion, SE3]
RANDOM = np.random.default_rng(7)


def vectors(group, *outer):
    return RANDOM.normal(size=outer + group.algebra) * 0.6


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_the_laws_hold_for_arrays_of_any_shape(group):
    xi, eta = vectors(group, 4, 5), vectors(group, 4, 5)
    a, b = group.exp(xi), group.exp(eta)
    assert a.shape == (4, 5, *group.element)
    assert np.allclose(group.log(a), xi) and np.allclose(group.cayley_inv(group.cayley(xi)), xi)
    identity = group.exp(np.zeros(group.algebra))
    assert np.allclose(group.compose(a, group.inverse(a)), identity)
    point = RANDOM.normal(size=(4, 5, *group.point))
    assert np.allclose(group.act(group.compose(a, b), point), group.act(a, group.act(b, point)))
    assert np.allclose(group.log(group.compose(group.compose(a, b), group.inverse(a))), group.adjoint(a, eta))
    pair = lambda x, y: np.sum(np.reshape(x * y, (4, 5, -1)), axis=2)  # noqa: E731
    for map_, dual in [(group.dexp, group.dexp_dual), (group.dexp_inv, group.dexp_inv_dual), (group.ad, group.coad)]:
        assert np.allclose(pair(dual(xi, a_dual := vectors(group, 4, 5)), eta), pair(a_dual, map_(xi, eta)))
    mu = vectors(group, 4, 5)
    assert np.allclose(pair(group.coadjoint(a, mu), eta), pair(mu, group.adjoint(a, eta)))
    assert np.allclose(group.dexp_inv(xi, group.dexp(xi, eta)), eta)
    assert np.allclose(group.dexp_right_inv(xi, group.dexp_right(xi, eta)), eta)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_dexp_is_the_left_differential(group):
    xi, delta = vectors(group, 20), 1e-6 * vectors(group, 20)
    change = group.log(group.compose(group.exp(xi + delta), group.inverse(group.exp(xi))))
    assert np.allclose(change, group.dexp(xi, delta), rtol=1e-4, atol=1e-10)


def test_elements_are_the_usual_matrices():
    xi = vectors(SE3, 6)
    power, exponential = np.eye(4)[None].repeat(6, axis=0), np.zeros((6, 4, 4))
    hat = np.zeros((6, 4, 4))
    for k, (i, j) in enumerate([(2, 1), (0, 2), (1, 0)]):
        hat[:, i, j], hat[:, j, i] = xi[:, k], -xi[:, k]
    hat[:, :3, 3] = xi[:, 3:]
    for n in range(1, 40):
        exponential += power
        power = power @ hat / n
    assert np.allclose(SE3.exp(xi), exponential)
    a, b = SE3.exp(xi), SE3.exp(vectors(SE3, 6))
    assert np.allclose(SE3.compose(a, b), a @ b)
    assert np.allclose(SO3.exp(xi[:, :3]), a[:, :3, :3])
    point = RANDOM.normal(size=(6, 3))
    assert np.allclose(Quaternion.act(Quaternion.exp(xi[:, :3]), point), SO3.act(SO3.exp(xi[:, :3]), point))
    assert np.allclose(SE2.exp([1.0, 0.0, np.pi / 2]), [2 / np.pi, 2 / np.pi, np.pi / 2])
    assert SO2.exp(0.5).shape == () and np.isclose(SO2.log(SO2.compose(3.0, 1.0)), 4.0 - 2 * np.pi)


def test_one_element_goes_with_many_and_wrong_ones_are_refused():
    many, one = vectors(SE2, 7), vectors(SE2)
    assert np.array_equal(SE2.compose(SE2.exp(one), SE2.exp(many))[3], SE2.compose(SE2.exp(one), SE2.exp(many[3])))
    assert SE2.exp(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(lienav.WrongCall, match=r"the argument of SE3 has the shape \(3,\); expected: \(…, 6,\)"):
        SE3.exp(np.zeros(3))
    with pytest.raises(lienav.WrongCall, match="element 1 is not of the group"):
        SO3.log(np.stack([np.eye(3), 2 * np.eye(3)]))
    with pytest.raises(lienav.WrongCall, match="compose: there are"):
        SE2.compose(np.zeros((2, 3)), np.zeros((3, 3)))
