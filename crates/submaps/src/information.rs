//! The information of a submap, made when it is first asked for: where a submap is closed, the filter waits, and what
//! it needs itself is the covariance. What is made does not depend on who asks first.

use super::common::Common;
use super::symmetric::Symmetric;
use nalgebra::{Cholesky, DMatrix, Dyn};
use std::sync::{Arc, OnceLock};

/// P⁻¹ of a submap; less that of the landmarks that the next submap was begun with, where there is a next submap.
#[derive(Clone, Debug)]
pub enum Information {
    /// It is there.
    Made(Arc<Symmetric>),
    /// It is made when it is asked for.
    Later(Arc<Later>),
}

/// What it is made of, and once it is made, itself.
#[derive(Debug)]
pub struct Later {
    source: Source,
    made: OnceLock<Arc<Symmetric>>,
}

#[derive(Debug)]
enum Source {
    /// The factor of the covariance.
    Covariance(Cholesky<f64, Dyn>),
    /// The information of a submap, and that of landmarks which the next submap was begun with, whose places in the
    /// list of the submap's are the `numbers`.
    Less(Information, Common),
}

impl Information {
    /// Of the factor of a covariance; `None` if that is not finite.
    pub fn of_covariance(factor: Cholesky<f64, Dyn>) -> Option<Self> {
        let is_finite = factor.l_dirty().iter().all(|value| value.is_finite());
        is_finite.then(|| Self::later(Source::Covariance(factor)))
    }

    /// The same less that of landmarks that another submap says.
    pub fn less(&self, given: Common) -> Self {
        Self::later(Source::Less(self.clone(), given))
    }

    fn later(source: Source) -> Self {
        Self::Later(Arc::new(Later { source, made: OnceLock::new() }))
    }

    /// Itself.
    pub fn get(&self) -> &Arc<Symmetric> {
        match self {
            Self::Made(made) => made,
            Self::Later(later) => later.made.get_or_init(|| Arc::new(later.source.make())),
        }
    }

    /// Whether it is there, and nothing is kept that it was made of.
    pub fn is_made(&self) -> bool {
        matches!(self, Self::Made(_))
    }

    /// The same without what it was made of.
    pub fn settled(&self) -> Self {
        Self::Made(self.get().clone())
    }
}

impl From<Symmetric> for Information {
    fn from(made: Symmetric) -> Self {
        Self::Made(Arc::new(made))
    }
}

impl Source {
    fn make(&self) -> Symmetric {
        match self {
            Self::Covariance(factor) => Symmetric::new(&factor.inverse()),
            Self::Less(whole, given) => {
                let mut information: DMatrix<f64> = whole.get().whole();
                for (j, column) in given.numbers.iter().enumerate() {
                    for (i, row) in given.numbers.iter().enumerate() {
                        let mut block = information.fixed_view_mut::<2, 2>(3 + 2 * row, 3 + 2 * column);
                        block -= given.information.fixed_view::<2, 2>(2 * i, 2 * j);
                    }
                }
                Symmetric::new(&information)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_inverse_less_what_is_given_whoever_asks_first() {
        let root = DMatrix::from_fn(7, 7, |i, j| if i < j { 0.0 } else { 1.0 / (1 + i + j) as f64 });
        let covariance = &root * root.transpose();
        let information = Information::of_covariance(covariance.clone().cholesky().unwrap()).unwrap();
        let given = Common { numbers: vec![1], information: DMatrix::from_row_slice(2, 2, &[3.0, 1.0, 1.0, 2.0]) };
        let less = information.less(given);
        assert!(!less.is_made() && less.settled().is_made());
        let mut expected = covariance.clone().try_inverse().unwrap();
        let scale = expected.amax();
        assert!((information.get().whole() - &expected).amax() < 1e-9 * scale);
        expected[(5, 5)] -= 3.0;
        expected[(6, 5)] -= 1.0;
        expected[(5, 6)] -= 1.0;
        expected[(6, 6)] -= 2.0;
        assert!((less.get().whole() - expected).amax() < 1e-9 * scale);
        // The other way round, of a copy.
        let other = Information::of_covariance(covariance.cholesky().unwrap()).unwrap();
        let settled = other.settled();
        assert_eq!(settled.get().lower(), information.clone().get().lower());
        let infinite = DMatrix::from_element(1, 1, f64::INFINITY).cholesky();
        assert!(infinite.is_none_or(|factor| Information::of_covariance(factor).is_none()));
    }
}
