//! # lienav-base
//!
//! What the filters of lienav share without being filters: [`stamp`], time as it comes with the data, and [`settings`],
//! names, units, ranges and descriptions of everything that can be set.

pub mod settings;
pub mod stamp;
