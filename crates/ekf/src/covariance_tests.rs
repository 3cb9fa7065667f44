use super::*;
use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn random(landmarks: usize, seed: u64) -> Covariance {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || rng.random_range(-1.0..1.0);
    let root = Matrix3::from_fn(|_, _| draw());
    let mut p = Covariance::new(&(root * root.transpose()), &[], 2);
    for _ in 0..landmarks {
        let from_pose = Matrix2x3::from_fn(|_, _| draw());
        let own = Matrix2::from_fn(|_, _| draw());
        p.append(&from_pose, &(own * own.transpose()));
    }
    p
}

fn close(a: &DMatrix<f64>, b: &DMatrix<f64>) {
    assert!((a - b).amax() < 1e-13 * (1.0 + b.amax()), "{a} is not {b}");
}

#[test]
fn append_is_the_covariance_of_a_linear_map_of_the_pose() {
    let mut p = random(3, 1);
    let before = p.to_matrix();
    let from_pose = Matrix2x3::new(1.0, 0.0, -0.7, 0.0, 1.0, 0.3);
    let own = Matrix2::new(0.2, 0.05, 0.05, 0.1);
    p.append(&from_pose, &own);
    let mut map = DMatrix::zeros(11, 9);
    map.view_mut((0, 0), (9, 9)).fill_with_identity();
    map.view_mut((9, 0), (2, 3)).copy_from(&from_pose);
    let mut expected = &map * before * map.transpose();
    let sum = expected.fixed_view::<2, 2>(9, 9) + own;
    expected.fixed_view_mut::<2, 2>(9, 9).copy_from(&sum);
    close(&p.to_matrix(), &expected);
}

#[test]
fn swap_remove_leaves_the_marginal_of_the_rest() {
    for gone in 0..4 {
        let mut p = random(4, 2);
        let before = p.to_matrix();
        p.swap_remove(gone);
        let mut order: Vec<usize> = (0..4).collect();
        order.swap_remove(gone);
        let rows: Vec<usize> = (0..3).chain(order.iter().flat_map(|&i| [p.row_of(i), p.row_of(i) + 1])).collect();
        close(&p.to_matrix(), &before.select_rows(&rows).select_columns(&rows));
    }
}

#[test]
fn subtract_outer_is_the_plain_product() {
    for columns in [1, 2, 4, 6, 9] {
        let mut p = random(5, 3);
        let n = p.dim();
        let w = DMatrix::from_fn(n, columns, |i, j| ((i * 7 + j * 3) % 11) as f64 * 0.01);
        let expected = p.to_matrix() - &w * w.transpose();
        let mut partly = p.clone();
        p.subtract_outer(w.as_slice(), columns, n);
        close(&p.to_matrix(), &expected);

        let before = partly.to_matrix();
        partly.subtract_outer(w.as_slice(), columns, 3);
        let mut expected = expected;
        expected.view_mut((3, 3), (n - 3, n - 3)).copy_from(&before.view((3, 3), (n - 3, n - 3)));
        close(&partly.to_matrix(), &expected);
    }
}

#[test]
fn move_all_is_the_plain_product() {
    let mut p = random(5, 4);
    let n = p.dim();
    let f = Matrix3::new(1.0, 0.0, -0.4, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0);
    for (c, s) in [(0.96, -0.28), (1.0, -0.3)] {
        let g: Vec<[f64; 3]> = (0..n).map(|i| [0.1 * i as f64, 0.3, -0.02 * i as f64]).collect();
        let mut phi = DMatrix::zeros(n, n);
        phi.fixed_view_mut::<3, 3>(0, 0).copy_from(&f);
        for i in 0..p.features() {
            phi.fixed_view_mut::<2, 2>(p.row_of(i), p.row_of(i)).copy_from(&Matrix2::new(c, -s, s, c));
        }
        let noise = DMatrix::from_fn(n, 3, |i, j| g[i][j]);
        let expected = &phi * p.to_matrix() * phi.transpose() + &noise * noise.transpose();
        p.move_all(&f, c, s, &g);
        close(&p.to_matrix(), &expected);
    }
}

#[test]
fn add_outer3_and_transport_are_the_plain_products() {
    let mut p = random(4, 6);
    let n = p.dim();
    let g: Vec<[f64; 3]> = (0..n).map(|i| [0.1 * i as f64, 0.3 - 0.1 * i as f64, 0.02]).collect();
    let noise = DMatrix::from_fn(n, 3, |i, j| g[i][j]);
    let expected = p.to_matrix() + &noise * noise.transpose();
    p.add_outer3(&g);
    close(&p.to_matrix(), &expected);

    let blocks: Vec<Matrix2<f64>> = [0, 1, 2, 3]
        .map(|i| if i % 3 == 1 { Matrix2::identity() } else { Matrix2::new(1.0, 0.1 * f64::from(i), -0.2, 0.9) })
        .to_vec();
    let mut t = DMatrix::identity(n, n);
    for (i, block) in blocks.iter().enumerate() {
        t.fixed_view_mut::<2, 2>(p.row_of(i), p.row_of(i)).copy_from(block);
    }
    let expected = &t * p.to_matrix() * t.transpose();
    p.transport(&blocks);
    close(&p.to_matrix(), &expected);
}

#[test]
fn change_landmarks_is_the_plain_product() {
    let mut p = random(4, 5);
    let n = p.dim();
    let b = Matrix2::new(0.8, 0.6, -0.6, 0.8);
    let from_pose = |i: usize| Matrix2x3::new(1.0, 0.0, i as f64, 0.0, 1.0, 2.0 - i as f64);
    let mut map = DMatrix::identity(n, n);
    for i in 0..p.features() {
        map.fixed_view_mut::<2, 2>(p.row_of(i), p.row_of(i)).copy_from(&b);
        map.fixed_view_mut::<2, 3>(p.row_of(i), 0).copy_from(&from_pose(i));
    }
    let expected = &map * p.to_matrix() * map.transpose();
    p.change_landmarks(&b, from_pose);
    close(&p.to_matrix(), &expected);
}

#[test]
fn factor3_takes_singular_matrices() {
    for q in [
        Matrix3::from_diagonal(&nalgebra::Vector3::new(1.0, 0.0, 4.0)),
        Matrix3::new(1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
        Matrix3::new(2.0, 0.5, 0.1, 0.5, 1.0, 0.2, 0.1, 0.2, 0.7),
    ] {
        let l = factor3(&q);
        assert!((l * l.transpose() - q).amax() < 1e-14);
    }
}
