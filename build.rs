//! Finds out whether the ROS 2 that is built against describes types over the network, as it does from Iron on.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=AMENT_PREFIX_PATH");
    println!("cargo::rustc-check-cfg=cfg(type_descriptions)");
    let prefixes = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    if env::split_paths(&prefixes).any(|prefix| prefix.join("share/type_description_interfaces").is_dir()) {
        println!("cargo::rustc-cfg=type_descriptions");
    }
}
