//! The filter on recordings of others.
//!
//! `cargo run --release -p lienav-inertial --example recordings -- euroc|starloc FOLDER [NAME=VALUE …]`

mod comparison;
mod euroc;
mod starloc;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("euroc") => euroc::run(arguments),
        Some("starloc") => starloc::run(arguments),
        _ => println!("which recording: `euroc FOLDER` or `starloc FOLDER`"),
    }
}
