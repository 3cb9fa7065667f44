//! The laws, run on every group.

use super::polar::{self, Polar};
use super::series::{dexp_inv_series, dexp_series};
use super::*;
use nalgebra::{DMatrix, SMatrix, Vector3, Vector6};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};

/// What is drawn for a law: three elements of the algebra, long and short.
type Triple<G> = [<G as LieGroup>::Algebra; 3];

fn near<V: VectorSpace>(a: &V, b: &V, tolerance: f64, what: &str) -> TestCaseResult {
    let (error, size) = (a.plus_scaled(-1.0, b).norm(), a.norm().max(b.norm()).max(1.0));
    prop_assert!(error <= tolerance * size, "{what}: {error:e}");
    Ok(())
}

fn same<G: HomogeneousSpace>(a: &G, b: &G, tolerance: f64, what: &str) -> TestCaseResult {
    let error = a.distance(b);
    prop_assert!(error <= tolerance, "{what}: {error:e}");
    Ok(())
}

fn group<G: LieGroup + HomogeneousSpace<Group = G>>([a, b, c]: Triple<G>) -> TestCaseResult {
    let (g, h, k) = (G::exp(&a), G::exp(&b), G::exp(&c));
    same(&g.compose(&h).compose(&k), &g.compose(&h.compose(&k)), 1e-13, "associativity")?;
    let one = g.identity_like();
    same(&g.compose(&one), &g, 0.0, "right neutral")?;
    same(&one.compose(&g), &g, 0.0, "left neutral")?;
    same(&g.compose(&g.inverse()), &one, 1e-14, "inverse")?;
    same(&h.moved_by(&g), &g.compose(&h), 0.0, "action on itself")
}

fn exponential<G: LieGroup + HomogeneousSpace<Group = G>>([a, b, _]: Triple<G>) -> TestCaseResult {
    let (g, h) = (G::exp(&a), G::exp(&b));
    near(&g.log(), &a, 1e-14, "log∘exp")?;
    let gh = g.compose(&h);
    same(&G::exp(&gh.log()), &gh, 2e-14, "exp∘log")?;
    same(&G::exp(&a.scaled(0.3)).compose(&G::exp(&a.scaled(0.7))), &g, 1e-14, "one-parameter subgroup")?;
    same(&G::exp(&a.scaled(-1.0)), &g.inverse(), 1e-14, "exp(−ξ)")?;
    same(&G::exp(&a.zero_like()), &g.identity_like(), 1e-15, "exp 0")
}

fn cayley<G: LieGroup + HomogeneousSpace<Group = G>>([a, b, _]: Triple<G>) -> TestCaseResult {
    let g = G::cayley(&a);
    near(&g.cayley_inv(), &a, 2e-14, "cayley⁻¹∘cayley")?;
    same(&G::cayley(&a.scaled(-1.0)), &g.inverse(), 1e-14, "cayley(−ξ)")?;
    let small = b.scaled(1e-2 / b.norm().max(1e-2));
    same(&G::cayley(&small), &G::exp(&small), 1e-6, "cayley agrees with exp to second order")
}

fn differentials<G: LieGroup + HomogeneousSpace<Group = G>>([xi, eta, mu]: Triple<G>) -> TestCaseResult {
    let (dexp, right) = (G::dexp(&xi, &eta), G::dexp_right(&xi, &eta));
    near(&G::dexp_inv(&xi, &dexp), &eta, 2e-13, "dexp⁻¹∘dexp")?;
    near(&G::dexp_right_inv(&xi, &right), &eta, 2e-13, "right dexp⁻¹∘dexp")?;
    let (g, h) = (G::exp(&xi), 1e-5);
    let (ahead, behind) = (G::exp(&xi.plus_scaled(h, &eta)), G::exp(&xi.plus_scaled(-h, &eta)));
    let difference = |a: &G, b: &G| a.log().plus_scaled(-1.0, &b.log()).scaled(0.5 / h);
    let back = g.inverse();
    near(&difference(&ahead.compose(&back), &behind.compose(&back)), &dexp, 2e-8, "dexp against differences")?;
    near(&difference(&back.compose(&ahead), &back.compose(&behind)), &right, 2e-8, "right dexp against differences")?;
    near(&g.adjoint_apply(&right), &dexp, 2e-14, "left = Ad∘right")?;
    let pairing = |a: &G::Algebra, b: &G::Algebra| a.dot(b);
    near(&pairing(&G::dexp_dual(&xi, &mu), &eta), &pairing(&mu, &dexp), 2e-13, "dual of dexp")?;
    let inverse = G::dexp_inv(&xi, &eta);
    near(&pairing(&G::dexp_inv_dual(&xi, &mu), &eta), &pairing(&mu, &inverse), 2e-13, "dual of dexp⁻¹")?;
    let along = |t: f64| pairing(&mu, &G::dexp(&xi.plus_scaled(t, &eta), &mu));
    let slope = (along(h) - along(-h)) / (2.0 * h);
    near(&pairing(&G::dexp_gradient(&xi, &mu, &mu), &eta), &slope, 2e-8, "gradient of dexp")
}

fn series<G: LieGroup>([xi, eta, _]: Triple<G>) -> TestCaseResult {
    let xi = xi.scaled(1.0 / xi.norm().max(1.0));
    let ad = |eta: &G::Algebra| G::ad(&xi, eta);
    near(&G::dexp(&xi, &eta), &dexp_series(30, ad, &eta), 3e-15, "dexp and its series")?;
    near(&G::dexp_inv(&xi, &eta), &dexp_inv_series(60, ad, &eta), 3e-15, "dexp⁻¹ and its series")
}

fn adjoint<G: LieGroup + HomogeneousSpace<Group = G>>([a, xi, eta]: Triple<G>) -> TestCaseResult {
    let (g, h) = (G::exp(&a), G::exp(&eta));
    let moved = g.adjoint_apply(&xi);
    near(&g.compose(&h).adjoint_apply(&xi), &g.adjoint_apply(&h.adjoint_apply(&xi)), 1e-13, "Ad is a homomorphism")?;
    same(&g.compose(&G::exp(&xi)), &G::exp(&moved).compose(&g), 2e-13, "g exp(ξ) = exp(Ad ξ) g")?;
    let brackets = (G::ad(&moved, &g.adjoint_apply(&eta)), g.adjoint_apply(&G::ad(&xi, &eta)));
    near(&brackets.0, &brackets.1, 1e-13, "Ad keeps brackets")?;
    let step = 1e-5;
    let at = |t: f64| G::exp(&xi.scaled(t)).adjoint_apply(&eta);
    near(
        &at(step).plus_scaled(-1.0, &at(-step)).scaled(0.5 / step),
        &G::ad(&xi, &eta),
        1e-8,
        "ad is the derivative of Ad",
    )
}

fn bracket<G: LieGroup>([a, b, c]: Triple<G>) -> TestCaseResult {
    let zero = a.zero_like();
    near(&G::ad(&a, &b).plus_scaled(1.0, &G::ad(&b, &a)), &zero, 1e-15, "antisymmetry")?;
    let jacobi = G::ad(&a, &G::ad(&b, &c)).plus_scaled(1.0, &G::ad(&b, &G::ad(&c, &a)));
    near(&jacobi.plus_scaled(1.0, &G::ad(&c, &G::ad(&a, &b))), &zero, 1e-13, "Jacobi")
}

fn duals<G: LieGroup>([a, xi, mu]: Triple<G>) -> TestCaseResult {
    let g = G::exp(&a);
    near(&g.coadjoint_apply(&mu).dot(&xi), &mu.dot(&g.adjoint_apply(&xi)), 1e-13, "coadjoint")?;
    near(&G::coad(&a, &mu).dot(&xi), &mu.dot(&G::ad(&a, &xi)), 1e-13, "coad")?;
    let (y, h) = (Coadjoint::<G>(mu.clone()), G::exp(&xi));
    let (at_once, one_by_one) = (y.moved_by(&g.compose(&h)), y.moved_by(&h).moved_by(&g));
    near(&at_once.0, &one_by_one.0, 1e-13, "coadjoint action")
}

/// A point is moved by a product as by one factor after the other, and by nothing where it is.
fn action<M: HomogeneousSpace>(y: &M, [a, b]: [<M::Group as LieGroup>::Algebra; 2]) -> TestCaseResult {
    let (g, h) = (M::Group::exp(&a), M::Group::exp(&b));
    same(&y.moved_by(&g.compose(&h)), &y.moved_by(&h).moved_by(&g), 2e-13, "action of a product")?;
    same(&y.moved_by(&g.identity_like()), y, 0.0, "action of the neutral element")?;
    same(&y.moved_by(&g).moved_by(&g.inverse()), y, 2e-13, "action of the inverse")
}

/// The retraction by polar decomposition at a rotation R, its inverse, its tangent map and the adjoint of that: all of
/// A = R(I + B) with a small B.
fn polar<M: Square>(turn: &Rotation<M>, [xi, b, k]: [M; 3]) -> TestCaseResult {
    let retracted = polar::retract(&xi);
    prop_assert!(Rotation::from_matrix_unchecked(retracted.clone()).orthogonality_error() < 1e-14);
    let Some(back) = polar::retract_inv(&retracted) else { return Err(TestCaseError::fail("no inverse")) };
    near(&back, &xi, 1e-13, "inverse of the retraction")?;
    let at = |t: f64| {
        let mut a = b.scaled(0.1);
        a.add_identity(1.0);
        turn.matrix().times(&a).plus_scaled(t, &k)
    };
    let decomposed = |t: f64| Polar::new(&at(t)).ok_or_else(|| TestCaseError::fail("no decomposition"));
    let mut here = decomposed(0.0)?;
    near(&here.u().times(here.p()), &at(0.0), 1e-14, "A = UP")?;
    let (mut omega, mut w) = (xi.zero_like(), xi.zero_like());
    here.tangent(&k, &mut omega);
    let step = 1e-5;
    let difference = decomposed(step)?.u().plus_scaled(-1.0, decomposed(-step)?.u()).scaled(0.5 / step);
    near(&here.u().times(&omega), &difference, 1e-8, "tangent map against differences")?;
    here.adjoint(&xi, &mut w);
    near(&w.dot(&k), &(0.5 * xi.dot(&omega)), 1e-13, "adjoint of the tangent map")
}

/// All laws on one group, with elements of the algebra drawn from a strategy.
macro_rules! laws {
    ($name:ident, $group:ty, $algebra:expr) => {
        mod $name {
            use super::*;

            fn triple() -> impl Strategy<Value = Triple<$group>> {
                // Down to where only the limits of the closed forms are left.
                let element =
                    || ($algebra, prop_oneof![Just(0), 1..14i32]).prop_map(|(xi, k)| xi.scaled(0.1f64.powi(k)));
                (element(), element(), element()).prop_map(|(a, b, c)| [a, b, c])
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(64))]
                #[test]
                fn group_(t in triple()) { group::<$group>(t)? }
                #[test]
                fn exponential_(t in triple()) { exponential::<$group>(t)? }
                #[test]
                fn cayley_(t in triple()) { cayley::<$group>(t)? }
                #[test]
                fn differentials_(t in triple()) { differentials::<$group>(t)? }
                #[test]
                fn series_(t in triple()) { series::<$group>(t)? }
                #[test]
                fn adjoint_(t in triple()) { adjoint::<$group>(t)? }
                #[test]
                fn bracket_(t in triple()) { bracket::<$group>(t)? }
                #[test]
                fn duals_(t in triple()) { duals::<$group>(t)? }
            }
        }
    };
}

fn vector3() -> impl Strategy<Value = Vector3<f64>> {
    prop::array::uniform3(-1.8..1.8f64).prop_map(Vector3::from)
}

fn vector6() -> impl Strategy<Value = Vector6<f64>> {
    (vector3(), vector3()).prop_map(|(a, b)| se3::join(&a, &b))
}

/// Skew matrices whose two greatest angles have a sum below 0.9·2π, as dexp⁻¹ asks for.
fn skew_matrix<const N: usize>() -> impl Strategy<Value = SMatrix<f64, N, N>> {
    prop::collection::vec(-0.8..0.8f64, N * N).prop_map(|entries| {
        let a = SMatrix::<f64, N, N>::from_iterator(entries);
        a - a.transpose()
    })
}

fn dynamic_skew_matrix() -> impl Strategy<Value = DMatrix<f64>> {
    skew_matrix::<4>().prop_map(|a| DMatrix::from_column_slice(4, 4, a.as_slice()))
}

laws!(plane_rotations, So2, -3.1..3.1f64);
laws!(plane_motions, Se2, vector3());
laws!(rotations, So3, vector3());
laws!(quaternions, Quat, vector3());
laws!(motions, Se3, vector6());
laws!(translations, Translation<Vector3<f64>>, vector3());
laws!(pairs, (So3, Translation<Vector3<f64>>), (vector3(), vector3()));
laws!(arrays, [So3; 2], prop::array::uniform2(vector3()));
laws!(vectors, Vec<Se3>, prop::collection::vec(vector6(), 3));
laws!(so_3, SoN<3>, skew_matrix::<3>());
laws!(so_4, SoN<4>, skew_matrix::<4>());
laws!(so_5, SoN<5>, skew_matrix::<5>().prop_map(|a| a * 0.7));
laws!(so_4_dynamic, SoDyn, dynamic_skew_matrix());

fn direction() -> impl Strategy<Value = Vector3<f64>> {
    vector3().prop_filter("too short", |x| x.norm() > 0.1).prop_map(|x| x.normalize())
}

fn turning_direction() -> impl Strategy<Value = Ts2> {
    (direction(), vector3()).prop_map(|(q, w)| Ts2 { q, omega: w - q * q.dot(&w) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn action_on_the_sphere(q in direction(), a in vector3(), b in vector3()) { action(&S2::new(q), [a, b])? }
    #[test]
    fn action_on_its_tangent_bundle(y in turning_direction(), a in vector6(), b in vector6()) { action(&y, [a, b])? }
    #[test]
    fn action_on_chains(y in turning_direction(), a in vector6(), b in vector6()) {
        action(&vec![y; 2], [vec![a, b], vec![b, a]])?;
        action(&[y; 2], [[a, b], [b, a]])?;
    }
    #[test]
    fn action_on_momenta(m in vector6(), a in vector6(), b in vector6()) { action(&Coadjoint::<Se3>(m), [a, b])? }

    #[test]
    fn polar_retraction_3(r in skew_matrix::<3>(), xi in skew_matrix::<3>(), b in matrix(), k in matrix()) {
        polar(&SoN::exp(&r), [xi, b, k])?;
    }
    #[test]
    fn polar_retraction_5(r in skew_matrix::<5>(), xi in skew_matrix::<5>(), b in matrix(), k in matrix()) {
        polar(&SoN::exp(&r), [xi, b, k])?;
    }
    #[test]
    fn polar_retraction_dynamic(r in skew_matrix::<4>(), xi in skew_matrix::<4>(), b in matrix::<4>(), k in matrix::<4>()) {
        let dynamic = |m: &SMatrix<f64, 4, 4>| DMatrix::from_column_slice(4, 4, m.as_slice());
        polar(&SoDyn::exp(&dynamic(&r)), [&xi, &b, &k].map(dynamic))?;
    }
}

fn matrix<const N: usize>() -> impl Strategy<Value = SMatrix<f64, N, N>> {
    prop::collection::vec(-1.0..1.0f64, N * N).prop_map(SMatrix::from_iterator)
}
