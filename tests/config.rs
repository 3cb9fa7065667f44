//! Everything in `config/` and `docs/parameters.md` against what the code really knows.

#[path = "config/colcon.rs"]
mod colcon;
#[path = "config/documents.rs"]
mod documents;
#[path = "config/papers.rs"]
mod papers;
#[path = "config/parameter_files.rs"]
mod parameter_files;
#[path = "config/plotjuggler.rs"]
mod plotjuggler;
#[path = "config/rviz.rs"]
mod rviz;
#[path = "config/scenarios.rs"]
mod scenarios;
#[path = "config/tables.rs"]
mod tables;
#[path = "config/workflow.rs"]
mod workflow;

/// The text of a file of this project.
fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
