//! `.github/workflows/ci.yml` calls scripts and tasks that exist, with the compilers and packages of the project.

use super::read;
use serde_json::Value;
use std::path::Path;

const WORKFLOW: &str = ".github/workflows/ci.yml";

fn workflow() -> Value {
    serde_yaml_ng::from_str(&read(WORKFLOW)).unwrap()
}

/// The commands of each job, a line each.
fn commands() -> Vec<(String, String)> {
    let workflow = workflow();
    let mut found = Vec::new();
    for (job, content) in workflow["jobs"].as_object().unwrap() {
        let scripts = content["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str());
        found.extend(scripts.flat_map(str::lines).map(|line| (job.clone(), line.trim().to_owned())));
    }
    found
}

#[test]
fn each_script_and_task_of_a_job_exists() {
    let tasks = read("xtask/src/main.rs");
    let is_task = |name: &str| {
        let variant = format!("    {}{}", name[..1].to_uppercase(), &name[1..]);
        tasks.lines().any(|line| line == format!("{variant},") || line == format!("{variant} {{"))
    };
    let mut count = 0;
    for (job, line) in commands() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["bash" | "python3", file, ..] => {
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(file).exists(), "{job}: {line}");
            }
            ["cargo", "xtask", task, ..] => assert!(is_task(task), "{job}: {line}: xtask has no such task"),
            _ => continue,
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} calls were found");
}

#[test]
fn each_script_is_called_by_a_job() {
    let commands = commands();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci")).unwrap() {
        let name = format!(".ci/{}", entry.unwrap().file_name().to_string_lossy());
        assert!(commands.iter().any(|(_, line)| line.split(' ').any(|word| word == name)), "{name}: by no job");
    }
}

#[test]
fn the_checks_run_with_the_minimum_of_the_manifest_and_the_packages_of_the_image() {
    let (workflow, recipe) = (workflow(), read("Dockerfile").replace("\\\n", ""));
    let matrix = &workflow["jobs"]["checks"]["strategy"]["matrix"];
    let manifest = read("Cargo.toml");
    let minimum = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let compilers = matrix["rust"].as_array().unwrap();
    assert!(compilers.contains(&Value::from(minimum)) && compilers.len() > 1, "{compilers:?}");
    let install = recipe.lines().find(|line| line.contains("apt-get install")).unwrap();
    let packages = install.split("--no-install-recommends").nth(1).and_then(|rest| rest.split("&&").next()).unwrap();
    let installed: Vec<String> = commands().into_iter().filter(|(job, _)| job == "checks").map(|(_, l)| l).collect();
    for package in packages.split_whitespace() {
        let is_installed = |line: &String| line.starts_with("apt-get install") && line.split(' ').any(|w| w == package);
        assert!(installed.iter().any(is_installed), "{package} is not installed by {WORKFLOW}");
    }
}
