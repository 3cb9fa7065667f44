//! Positions on the WGS 84 ellipsoid as coordinates of a plane: east and north of a datum.

use nalgebra::{Matrix3, Vector2, Vector3};

/// Semi-major axis of WGS 84, m.
const A: f64 = 6_378_137.0;
/// Flattening of WGS 84.
const F: f64 = 1.0 / 298.257_223_563;
/// A datum is no nearer to a pole than this, degrees: east has to be a direction.
pub const MAX_LATITUDE_DEG: f64 = 89.9;
/// Positions farther from the datum are not of the same plane, m.
pub const MAX_DISTANCE_M: f64 = 50_000.0;

/// The origin of a plane that touches the ellipsoid there, x east and y north.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datum {
    origin: Vector3<f64>,
    /// Rows: east, north, up.
    axes: Matrix3<f64>,
    /// Whether it is that of one fix alone, which no other has confirmed.
    is_first_guess: bool,
}

impl Datum {
    /// At latitude and longitude, degrees, and height, m; `None` beyond [`MAX_LATITUDE_DEG`], or where a number is no
    /// coordinate.
    pub fn new(latitude_deg: f64, longitude_deg: f64, altitude_m: f64) -> Option<Self> {
        let origin = geocentric(latitude_deg, longitude_deg, altitude_m)?;
        let ((s_lat, c_lat), (s_lon, c_lon)) =
            (latitude_deg.to_radians().sin_cos(), longitude_deg.to_radians().sin_cos());
        #[rustfmt::skip]
        let axes = Matrix3::new(
            -s_lon, c_lon, 0.0,
            -s_lat * c_lon, -s_lat * s_lon, c_lat,
            c_lat * c_lon, c_lat * s_lon, s_lat,
        );
        Some(Self { origin, axes, is_first_guess: false })
    }

    /// [`Datum::new`] at a single fix, which may be wrong.
    pub fn first_guess(latitude_deg: f64, longitude_deg: f64, altitude_m: f64) -> Option<Self> {
        let datum = Self::new(latitude_deg, longitude_deg, altitude_m)?;
        Some(Self { is_first_guess: true, ..datum })
    }

    /// Whether only the fix that made it has confirmed it.
    pub fn is_first_guess(&self) -> bool {
        self.is_first_guess
    }

    /// Keeps it: another fix is of its plane.
    pub fn confirm(&mut self) {
        self.is_first_guess = false;
    }

    /// East and north of the datum, m: exact, without a projection. `None` farther away than [`MAX_DISTANCE_M`], near a
    /// pole, or where a number is no coordinate.
    pub fn plane(&self, latitude_deg: f64, longitude_deg: f64, altitude_m: f64) -> Option<Vector2<f64>> {
        let local = self.axes * (geocentric(latitude_deg, longitude_deg, altitude_m)? - self.origin);
        (local.norm() <= MAX_DISTANCE_M).then(|| local.xy())
    }
}

/// X, Y, Z of the centre of the earth, m.
fn geocentric(latitude_deg: f64, longitude_deg: f64, altitude_m: f64) -> Option<Vector3<f64>> {
    let is_place = latitude_deg.abs() <= MAX_LATITUDE_DEG && longitude_deg.abs() <= 360.0 && altitude_m.abs() < 1e5;
    if !is_place {
        return None;
    }
    let ((s_lat, c_lat), (s_lon, c_lon)) = (latitude_deg.to_radians().sin_cos(), longitude_deg.to_radians().sin_cos());
    let square = F * (2.0 - F);
    let across = A / (1.0 - square * s_lat * s_lat).sqrt();
    let ring = (across + altitude_m) * c_lat;
    Some(Vector3::new(ring * c_lon, ring * s_lon, (across * (1.0 - square) + altitude_m) * s_lat))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A degree of latitude and of longitude at 45°, from the radii of curvature of WGS 84: 111,132.0 m and 78,846.8 m.
    #[test]
    fn small_steps_are_the_radii_of_curvature() {
        let datum = Datum::new(45.0, 10.0, 0.0).unwrap();
        let north = datum.plane(45.0 + 1e-3, 10.0, 0.0).unwrap();
        let east = datum.plane(45.0, 10.0 + 1e-3, 0.0).unwrap();
        assert!((north.y - 111.131_8).abs() < 2e-3 && north.x.abs() < 1e-6, "{north}");
        assert!((east.x - 78.846_8).abs() < 2e-3 && east.y.abs() < 1e-3, "{east}");
        assert_eq!(datum.plane(45.0, 10.0, 0.0).unwrap(), Vector2::zeros());
        assert!(datum.plane(45.0, -350.0, 0.0).unwrap().norm() < 1e-6, "a turn is no way");
        assert!(datum.plane(45.0, 10.0, 100.0).unwrap().norm() < 1e-6, "up is not in the plane");
    }

    #[test]
    fn poles_and_other_continents_are_not_in_the_plane() {
        assert_eq!(Datum::new(90.0, 0.0, 0.0), None);
        assert_eq!(Datum::new(f64::NAN, 0.0, 0.0), None);
        let datum = Datum::new(-33.0, 151.0, 20.0).unwrap();
        assert_eq!(datum.plane(48.0, 11.0, 0.0), None);
        assert_eq!(datum.plane(-90.0, 151.0, 0.0), None);
        assert_eq!(datum.plane(-33.0, f64::INFINITY, 0.0), None);
    }
}
