//! # lienav-base
//!
//! What the filters of lienav share without being filters: [`stamp`], time as it comes with the data; [`clock`], which
//! judges stamps; [`intake`], which counts what is left out; and [`settings`], names, units, ranges and descriptions of
//! everything that can be set.

pub mod clock;
pub mod intake;
pub mod settings;
pub mod stamp;
