//! Without a build script, cargo does not resolve the dependencies of one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
