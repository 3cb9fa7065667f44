//! Lie groups over arrays of elements.

use crate::arrays::{Floats, array, numbers};
use crate::errors::wrong_call;
use lienav_lie::{LieGroup, Quat, Se2, Se3, So2, So3};
use nalgebra::{Matrix3, UnitComplex, Vector3, Vector6};
use pyo3::prelude::*;

/// How elements and algebra of a group are written as numbers.
trait Coded: LieGroup {
    /// Numbers of an element.
    const ELEMENT: usize;
    /// Numbers of the algebra.
    const ALGEBRA: usize;
    /// Numbers of a point that it moves.
    const POINT: usize;
    /// An element; `None` where the numbers are none.
    fn read(numbers: &[f64]) -> Option<Self>;
    fn write(&self, out: &mut Vec<f64>);
    fn read_algebra(numbers: &[f64]) -> Self::Algebra;
    fn write_algebra(xi: &Self::Algebra, out: &mut Vec<f64>);
    fn act(&self, point: &[f64], out: &mut Vec<f64>);
}

/// What is off by more is no rotation, but something else.
const MOST_OFF: f64 = 1e-6;

fn v3(numbers: &[f64]) -> Vector3<f64> {
    Vector3::new(numbers[0], numbers[1], numbers[2])
}

impl Coded for So2 {
    const ELEMENT: usize = 1;
    const ALGEBRA: usize = 1;
    const POINT: usize = 2;

    fn read(numbers: &[f64]) -> Option<Self> {
        Some(Self(UnitComplex::new(numbers[0])))
    }
    fn write(&self, out: &mut Vec<f64>) {
        out.push(self.0.angle());
    }
    fn read_algebra(numbers: &[f64]) -> f64 {
        numbers[0]
    }
    fn write_algebra(xi: &f64, out: &mut Vec<f64>) {
        out.push(*xi);
    }
    fn act(&self, point: &[f64], out: &mut Vec<f64>) {
        let moved = self.0 * nalgebra::Vector2::new(point[0], point[1]);
        out.extend(moved.iter());
    }
}

impl Coded for Se2 {
    const ELEMENT: usize = 3;
    const ALGEBRA: usize = 3;
    const POINT: usize = 2;

    fn read(numbers: &[f64]) -> Option<Self> {
        Some(Self::new(numbers[0], numbers[1], numbers[2]))
    }
    fn write(&self, out: &mut Vec<f64>) {
        out.extend([self.p.x, self.p.y, self.theta]);
    }
    fn read_algebra(numbers: &[f64]) -> Vector3<f64> {
        v3(numbers)
    }
    fn write_algebra(xi: &Vector3<f64>, out: &mut Vec<f64>) {
        out.extend(xi.iter());
    }
    fn act(&self, point: &[f64], out: &mut Vec<f64>) {
        out.extend(self.transform(&nalgebra::Vector2::new(point[0], point[1])).iter());
    }
}

impl Coded for So3 {
    const ELEMENT: usize = 9;
    const ALGEBRA: usize = 3;
    const POINT: usize = 3;

    fn read(numbers: &[f64]) -> Option<Self> {
        let matrix = Matrix3::from_row_slice(&numbers[..9]);
        let rotation = Self::from_matrix_unchecked(matrix);
        let is_rotation = rotation.orthogonality_error() < MOST_OFF && matrix.determinant() > 0.0;
        is_rotation.then_some(rotation)
    }
    fn write(&self, out: &mut Vec<f64>) {
        out.extend(self.matrix().transpose().iter());
    }
    fn read_algebra(numbers: &[f64]) -> Vector3<f64> {
        v3(numbers)
    }
    fn write_algebra(xi: &Vector3<f64>, out: &mut Vec<f64>) {
        out.extend(xi.iter());
    }
    fn act(&self, point: &[f64], out: &mut Vec<f64>) {
        out.extend((*self * v3(point)).iter());
    }
}

impl Coded for Quat {
    const ELEMENT: usize = 4;
    const ALGEBRA: usize = 3;
    const POINT: usize = 3;

    fn read(numbers: &[f64]) -> Option<Self> {
        let is_unit = (numbers[..4].iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < MOST_OFF;
        is_unit.then(|| Self::from_parts_unchecked(numbers[3], v3(numbers)))
    }
    fn write(&self, out: &mut Vec<f64>) {
        out.extend(self.v().iter());
        out.push(self.w());
    }
    fn read_algebra(numbers: &[f64]) -> Vector3<f64> {
        v3(numbers)
    }
    fn write_algebra(xi: &Vector3<f64>, out: &mut Vec<f64>) {
        out.extend(xi.iter());
    }
    fn act(&self, point: &[f64], out: &mut Vec<f64>) {
        out.extend((*self * v3(point)).iter());
    }
}

impl Coded for Se3 {
    const ELEMENT: usize = 16;
    const ALGEBRA: usize = 6;
    const POINT: usize = 3;

    fn read(numbers: &[f64]) -> Option<Self> {
        let row = |k: usize| &numbers[4 * k..4 * k + 3];
        let rotation: Vec<f64> = (0..3).flat_map(|k| row(k).iter().copied()).collect();
        let is_affine = numbers[12..16] == [0.0, 0.0, 0.0, 1.0];
        let rotation = So3::read(&rotation).filter(|_| is_affine)?;
        Some(Self::new(rotation, Vector3::new(numbers[3], numbers[7], numbers[11])))
    }
    fn write(&self, out: &mut Vec<f64>) {
        let rotation = self.rotation.matrix();
        for k in 0..3 {
            out.extend(rotation.row(k).iter());
            out.push(self.translation[k]);
        }
        out.extend([0.0, 0.0, 0.0, 1.0]);
    }
    fn read_algebra(numbers: &[f64]) -> Vector6<f64> {
        Vector6::from_column_slice(&numbers[..6])
    }
    fn write_algebra(xi: &Vector6<f64>, out: &mut Vec<f64>) {
        out.extend(xi.iter());
    }
    fn act(&self, point: &[f64], out: &mut Vec<f64>) {
        out.extend(self.transform(&v3(point)).iter());
    }
}

/// One operation on rows of numbers; the names are those of [`LieGroup`].
fn apply<G: Coded>(operation: &str, a: &[f64], b: &[f64], n: usize) -> Result<Vec<f64>, String> {
    let mut out = Vec::with_capacity(n * G::ELEMENT);
    let row = |rows: &'_ [f64], k: usize, width: usize| rows[k * width..(k + 1) * width].to_vec();
    let element = |rows: &[f64], k: usize| {
        G::read(&rows[k * G::ELEMENT..(k + 1) * G::ELEMENT])
            .ok_or_else(|| format!("element {k} is not of the group: its numbers are off by more than {MOST_OFF}"))
    };
    let algebra = |rows: &[f64], k: usize| G::read_algebra(&rows[k * G::ALGEBRA..(k + 1) * G::ALGEBRA]);
    for k in 0..n {
        match operation {
            "exp" => G::exp(&algebra(a, k)).write(&mut out),
            "log" => G::write_algebra(&element(a, k)?.log(), &mut out),
            "cayley" => G::cayley(&algebra(a, k)).write(&mut out),
            "cayley_inv" => G::write_algebra(&element(a, k)?.cayley_inv(), &mut out),
            "inverse" => element(a, k)?.inverse().write(&mut out),
            "compose" => element(a, k)?.compose(&element(b, k)?).write(&mut out),
            "adjoint" => G::write_algebra(&element(a, k)?.adjoint_apply(&algebra(b, k)), &mut out),
            "coadjoint" => G::write_algebra(&element(a, k)?.coadjoint_apply(&algebra(b, k)), &mut out),
            "act" => element(a, k)?.act(&row(b, k, G::POINT), &mut out),
            _ => {
                let map = match operation {
                    "dexp" => G::dexp,
                    "dexp_inv" => G::dexp_inv,
                    "dexp_dual" => G::dexp_dual,
                    "dexp_inv_dual" => G::dexp_inv_dual,
                    "dexp_right" => G::dexp_right,
                    "dexp_right_inv" => G::dexp_right_inv,
                    "ad" => G::ad,
                    "coad" => G::coad,
                    other => return Err(format!("there is no operation '{other}'")),
                };
                G::write_algebra(&map(&algebra(a, k), &algebra(b, k)), &mut out);
            }
        }
    }
    Ok(out)
}

/// `operation` on n rows of `a`, and of `b` where it takes two; both (n, numbers of one).
#[pyfunction]
#[pyo3(signature = (group, operation, a, b=None))]
pub fn lie<'py>(
    py: Python<'py>,
    group: &str,
    operation: &str,
    a: Floats<'py>,
    b: Option<Floats<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let a = numbers("the first argument", &a, &[None, None])?;
    let b = b.map(|b| numbers("the second argument", &b, &[None, None])).transpose()?.unwrap_or_default();
    let [element, algebra, point] = match group {
        "SO2" => sizes::<So2>(),
        "SE2" => sizes::<Se2>(),
        "SO3" => sizes::<So3>(),
        "Quaternion" => sizes::<Quat>(),
        "SE3" => sizes::<Se3>(),
        other => return Err(wrong_call(format!("there is no group '{other}'"))),
    };
    let of_elements = ["log", "cayley_inv", "inverse", "compose", "adjoint", "coadjoint", "act"];
    let width = if of_elements.contains(&operation) { element } else { algebra };
    let second = match operation {
        "exp" | "log" | "cayley" | "cayley_inv" | "inverse" => 0,
        "compose" => element,
        "act" => point,
        _ => algebra,
    };
    let n = a.len() / width;
    if a.len() != n * width || b.len() != n * second {
        return Err(wrong_call(format!("{operation} of {group} has arguments of other sizes")));
    }
    let result = py.detach(|| match group {
        "SO2" => apply::<So2>(operation, &a, &b, n),
        "SE2" => apply::<Se2>(operation, &a, &b, n),
        "SO3" => apply::<So3>(operation, &a, &b, n),
        "Quaternion" => apply::<Quat>(operation, &a, &b, n),
        _ => apply::<Se3>(operation, &a, &b, n),
    });
    let result = result.map_err(wrong_call)?;
    let width = result.len().checked_div(n).unwrap_or_default();
    array(py, result, &[n, width])
}

fn sizes<G: Coded>() -> [usize; 3] {
    [G::ELEMENT, G::ALGEBRA, G::POINT]
}
