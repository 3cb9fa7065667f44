//! A source archive with all dependencies: it is built without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{cargo, steps};

/// What an archive has below its root for the crates of others.
const VENDOR: &str = "vendor";

/// What tells cargo to take them; the rest of `.cargo/config.toml` stays as it is.
const SOURCES: &str = "
# This is an archive: crates come from its folder, and nothing is fetched.
[source.crates-io]
replace-with = \"vendored\"

[source.vendored]
directory = \"vendor\"

[net]
offline = true
";

/// Makes `target/archive/lienav-VERSION.tar.gz` of what is committed. With `check`, unpacks it elsewhere and builds the
/// command line there, in a network namespace without any route and with an empty home of cargo.
pub fn make(root: &Path, check: bool) -> Result<ExitCode> {
    let folder = root.join("target/archive");
    let name = format!("lienav-{}", version(root)?);
    let (inside, packed) = (folder.join(&name), folder.join(format!("{name}.tar.gz")));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("could not empty {}", folder.display()))?;
    }
    fs::create_dir_all(&inside)?;
    let log = steps::Log::create(&root.join("target/archive.log"))?;
    let shell = |script: &str| -> Command {
        let mut command = Command::new("sh");
        command.current_dir(root).args(["-euc", script, "sh"]).arg(&inside);
        command
    };
    steps::quiet("sources, as committed", || log.run(&mut shell("git archive HEAD | tar -x -C \"$1\"")))?;
    steps::quiet("crates of others", || {
        let mut vendor = cargo();
        vendor.current_dir(&inside).args([
            "vendor",
            "--quiet",
            "--locked",
            "--sync",
            "python/Cargo.toml",
            "--versioned-dirs",
            VENDOR,
        ]);
        log.run(&mut vendor)
    })?;
    // colcon would take every crate of others for a package.
    fs::write(inside.join(VENDOR).join("COLCON_IGNORE"), "")?;
    let config = inside.join(".cargo/config.toml");
    let text = fs::read_to_string(&config).with_context(|| format!("could not read {}", config.display()))?;
    fs::write(&config, text + SOURCES)?;
    steps::quiet("packing", || {
        // The same commit gives the same bytes.
        let options = "--sort=name --owner=0 --group=0 --numeric-owner --mtime=@\"$(git log -1 --format=%ct)\"";
        log.run(&mut shell(&format!("tar -C \"$1/..\" {options} -c \"$(basename \"$1\")\" | gzip -n > \"$1.tar.gz\"")))
    })?;
    fs::remove_dir_all(&inside)?;
    let megabytes = fs::metadata(&packed)?.len() as f64 / 1e6;
    eprintln!("  ok  {} ({megabytes:.0} MB)", packed.display());
    if check {
        steps::quiet("build without network", || build_alone(&packed, &folder.join("check"), &log))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn build_alone(packed: &Path, folder: &Path, log: &steps::Log) -> Result<()> {
    fs::create_dir_all(folder)?;
    log.run(Command::new("tar").arg("-xzf").arg(packed).arg("-C").arg(folder))?;
    let Some(inside) = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).find(|path| path.is_dir()) else {
        bail!("{} holds no folder", packed.display());
    };
    let mut build = Command::new("unshare");
    // With a user of its own, nobody has to be root for it.
    build.args(["--net", "--user", "--map-root-user", "--"]).arg(cargo().get_program());
    build.args(["build", "--locked", "--offline", "--no-default-features", "--bin", "lienav"]);
    build.current_dir(&inside).env("CARGO_HOME", folder.join("home")).env_remove("CARGO_TARGET_DIR");
    log.run(&mut build)?;
    let lienav: PathBuf = inside.join("target/debug/lienav");
    log.run(Command::new(lienav).arg("--version"))?;
    fs::remove_dir_all(folder).with_context(|| format!("could not remove {}", folder.display()))
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    Ok(line.and_then(|rest| rest.strip_suffix('"')).context("Cargo.toml states no version")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever releases changes one number; these follow it.
    #[test]
    fn the_version_is_the_same_wherever_it_is_stated() {
        let root = crate::project_root();
        let version = version(&root).unwrap();
        let stated = |path: &str, text: String| {
            let found = fs::read_to_string(root.join(path)).unwrap();
            assert!(found.contains(&text), "{path} does not say {text}");
        };
        stated("package.xml", format!("<version>{version}</version>"));
        stated("CITATION.cff", format!("version: {version}"));
        stated("CHANGELOG.md", format!("## {version}"));
        for name in ["bag", "eval", "files", "inertial", "lab", "report", "runs", "space", "tags"] {
            stated(&format!("crates/{name}/Cargo.toml"), format!("\nversion = \"{version}\""));
        }
        stated("python/Cargo.toml", format!("\nversion = \"{version}\""));
        for name in ["lie", "slam", "eval"] {
            stated("Cargo.toml", format!("lienav-{name} = {{ path = \"crates/{name}\", version = \"{version}\" }}"));
        }
    }

    /// There is not always a docker to try it with: its steps are those that CI takes.
    #[test]
    fn the_image_takes_the_steps_of_ci() {
        let root = crate::project_root();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let (recipe, manifest) = (read("Dockerfile").replace("\\\n", ""), read("Cargo.toml"));
        let stages: Vec<&str> = recipe.split("\nFROM ").skip(1).collect();
        let [test, build, last] = stages[..] else { panic!("three stages: {stages:?}") };
        let rust = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        for stage in [test, build] {
            assert!(stage.starts_with(&format!("rust:{rust}-bookworm")), "Cargo.toml says Rust {rust}: {stage}");
        }
        // What `tools::doctor` and the tests look for.
        for package in ["g++", "git", "python3", "python3-venv", "chromium"] {
            assert!(test.split_whitespace().any(|word| word == package), "{package} is not installed: {test}");
        }
        assert!(test.trim_end().ends_with("ENV CI=true\nRUN bash .ci/run"), "{test}");
        assert!(read(".ci/run").trim_end().ends_with("exec cargo xtask test"));
        let command = build.lines().find_map(|line| line.strip_prefix("RUN cargo ")).unwrap();
        assert_eq!(command, "build --profile dist --locked --no-default-features --features lab --bin lienav");
        assert!(manifest.contains("\nlab = ["), "the feature of that command");
        assert!(manifest.contains("\n[profile.dist]\n"), "the profile of that command");
        assert!(last.contains("COPY --from=build /lienav/target/dist/lienav /usr/local/bin/lienav"), "{last}");
        assert!(last.contains("ENTRYPOINT [\"lienav\"]\nCMD [\"self-test\"]"), "{last}");
    }
}
