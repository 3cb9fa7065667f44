//! Laws of the filters.
