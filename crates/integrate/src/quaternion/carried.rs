//! A unit quaternion that is turned again and again without losing its norm.

use lienav_lie::So3;
use nalgebra::{Quaternion, UnitQuaternion, Vector3, Vector4};

/// A unit quaternion with what rounding has cut off it.
///
/// A product q₀f of rounded numbers changes the norm by some 10⁻¹⁶, so that after N of them it is off by 10⁻¹⁶√N even
/// where f is of unit norm. Here the product is taken as q₀ + q₀(f − 1): with f of a small turn the second term, and
/// the rounding made in it, is smaller than q₀ by |f − 1|, and what the addition cuts off is kept and put back at the
/// next one (the compensated sum of Kahan and Møller). The scalar part of f − 1 comes from the vector part without the
/// cancellation of 1 − cos: √(1 − v²) − 1 = −v²/(1 + √(1 − v²)). Nothing is ever divided by the norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarriedQuaternion {
    // x, y, z, w, as nalgebra has them; the true value is `value` + `carry`, with |carry| below an ulp of `value`.
    value: Vector4<f64>,
    carry: Vector4<f64>,
}

impl From<UnitQuaternion<f64>> for CarriedQuaternion {
    /// The norm of the quaternion is put right to twice the working precision.
    fn from(q: UnitQuaternion<f64>) -> Self {
        // One Newton step of q/|q|, whose correction is the first carry.
        let value = q.coords;
        Self { value, carry: value * (-0.5 * excess(&value)) }
    }
}

impl CarriedQuaternion {
    /// self ← self·(√(1 − |v|²), v): a turn about the body-fixed axis v by 2 arcsin|v|, |v| ≤ 1.
    #[inline]
    pub fn turn(&mut self, v: &Vector3<f64>) {
        let square = v.norm_squared();
        self.turn_with(-square / (1.0 + (1.0 - square).sqrt()), v);
    }

    /// The same where the scalar part less one, w = √(1 − |v|²) − 1, is known.
    #[inline]
    pub(crate) fn turn_with(&mut self, w: f64, v: &Vector3<f64>) {
        let q = &self.value;
        let change = Vector4::new(
            q.w * v.x + q.x * w + q.y * v.z - q.z * v.y,
            q.w * v.y + q.y * w + q.z * v.x - q.x * v.z,
            q.w * v.z + q.z * w + q.x * v.y - q.y * v.x,
            q.w * w - q.x * v.x - q.y * v.y - q.z * v.z,
        );
        let addend = change + self.carry;
        let sum = self.value + addend;
        self.carry = cut_off(self.value, addend, sum);
        self.value = sum;
    }

    /// The quaternion, rounded.
    #[inline]
    pub fn value(&self) -> UnitQuaternion<f64> {
        UnitQuaternion::new_unchecked(Quaternion::from(self.value))
    }

    /// π(q), the rotation matrix.
    #[inline]
    pub fn rotation(&self) -> So3 {
        So3::from(self.value().to_rotation_matrix())
    }

    /// |q| − 1 of the rounded quaternion, evaluated with twice the working precision.
    pub fn norm_error(&self) -> f64 {
        0.5 * excess(&self.value)
    }
}

/// a + b − s for the rounded sum s of a and b, exactly and whatever their magnitudes (Knuth's two-sum).
#[inline]
fn cut_off(a: Vector4<f64>, b: Vector4<f64>, s: Vector4<f64>) -> Vector4<f64> {
    let added = s - a;
    (a - (s - added)) + (b - added)
}

/// |q|² − 1 with twice the working precision.
fn excess(q: &Vector4<f64>) -> f64 {
    let (mut sum, mut rest) = (-1.0, 0.0);
    for x in q.iter() {
        let (square, before) = (x * x, sum);
        sum += square;
        let added = sum - before;
        rest += (before - (sum - added)) + (square - added) + square_rounding(*x);
    }
    sum + rest
}

/// x² less its rounded value (Dekker's product, which needs no fused multiply-add).
fn square_rounding(x: f64) -> f64 {
    let big = 134_217_729.0 * x;
    let high = big - (big - x);
    let low = x - high;
    ((high * high - x * x) + 2.0 * high * low) + low * low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_increment(v: &Vector3<f64>) -> Quaternion<f64> {
        Quaternion::from_parts((1.0 - v.norm_squared()).sqrt(), *v)
    }

    #[test]
    fn it_turns_as_a_product_does() {
        let mut q = CarriedQuaternion::from(UnitQuaternion::from_euler_angles(0.3, -0.4, 0.5));
        let v = Vector3::new(0.3, -0.5, 0.2);
        let product = q.value().into_inner() * plain_increment(&v);
        q.turn(&v);
        assert!((q.value().into_inner() - product).norm() < 1e-15);
    }

    #[test]
    fn the_norm_is_held_where_plain_products_lose_it() {
        let mut carried = CarriedQuaternion::from(UnitQuaternion::from_euler_angles(0.3, -0.4, 0.5));
        let mut plain = carried.value().into_inner();
        let (mut worst, mut worst_plain) = (0.0_f64, 0.0_f64);
        for k in 0..200_000 {
            let t = f64::from(k) * 1e-3;
            let v = Vector3::new(0.02 * t.sin(), 0.01, 0.03 * (1.7 * t).cos());
            plain *= plain_increment(&v);
            carried.turn(&v);
            worst = worst.max(carried.norm_error().abs());
            worst_plain = worst_plain.max((plain.norm_squared() - 1.0).abs() / 2.0);
        }
        assert!(worst < 2e-15, "{worst:e}");
        assert!(worst_plain > 1e-14, "{worst_plain:e}: then the carry is for nothing");
    }

    #[test]
    fn the_excess_sees_what_plain_arithmetic_does_not() {
        let x = 1.0 + 2f64.powi(-30);
        // x² = 1 + 2⁻²⁹ + 2⁻⁶⁰, whose last term a double has no room for.
        assert_eq!(excess(&Vector4::new(x, 0.0, 0.0, 0.0)), 2f64.powi(-29) + 2f64.powi(-60));
        assert_eq!(square_rounding(x), 2f64.powi(-60));
    }
}
