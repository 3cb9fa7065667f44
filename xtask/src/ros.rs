//! Which ROS 2 is used, and the environment that belongs to it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::checks::ONE_BUILD;

/// The distributions that r2r 0.9.7 builds against.
const KNOWN_TO_R2R: [&str; 7] = ["foxy", "galactic", "humble", "iron", "jazzy", "lyrical", "rolling"];

/// The packages whose messages the nodes use, as ROS 2 installs them.
const NEEDED: [&str; 11] = [
    "rcl",
    "diagnostic_msgs",
    "geometry_msgs",
    "lifecycle_msgs",
    "nav_msgs",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "tf2_msgs",
    "visualization_msgs",
];

/// The packages of messages that nodes can be built with.
const OPTIONAL: [&str; 2] = ["apriltag_msgs", "vision_msgs"];

/// The ROS 2 that the package is built and run with.
pub enum Ros {
    /// A distribution that the user has sourced: used as it is.
    Sourced { distro: String, prefix: PathBuf, features: Vec<&'static str> },
    /// The private Jazzy of this project, see [`crate::setup`].
    Private(Private),
}

/// Where the parts of the private Jazzy lie.
pub struct Private {
    folder: PathBuf,
}

impl Ros {
    /// The sourced distribution, if there is one, or else the private Jazzy of the project, made or not.
    ///
    /// Errors: a distribution is sourced, but r2r does not know it or it lacks packages.
    pub fn chosen(root: &Path) -> Result<Self> {
        let private = Private::of(root);
        let prefixes: Vec<PathBuf> = env::var_os("AMENT_PREFIX_PATH")
            .map(|value| env::split_paths(&value).filter(|prefix| !prefix.starts_with(&private.folder)).collect())
            .unwrap_or_default();
        let Some(prefix) = prefixes.iter().find(|prefix| prefix.join("share/rcl").is_dir()) else {
            return Ok(Self::Private(private));
        };

        let distro = env::var("ROS_DISTRO").unwrap_or_default();
        if !KNOWN_TO_R2R.contains(&distro.as_str()) {
            bail!(
                "the sourced ROS 2 is '{distro}', which r2r does not know: source one of {} or none at all",
                KNOWN_TO_R2R.join(", ")
            );
        }
        let has = |package: &str| prefixes.iter().any(|prefix| prefix.join("share").join(package).is_dir());
        let missing: Vec<&str> = NEEDED.into_iter().filter(|package| !has(package)).collect();
        if !missing.is_empty() {
            bail!(
                "the sourced ROS 2 {distro} lacks {}: install them, for example with `rosdep install --from-paths .`",
                missing.join(", ")
            );
        }
        let features = OPTIONAL.into_iter().filter(|package| has(package)).collect();
        Ok(Self::Sourced { distro, prefix: prefix.clone(), features })
    }

    /// The cargo features that tests and the demo build with: the published experiments, that of
    /// [`crate::checks::ONE_BUILD`], and those whose packages are there, each with the name of its package.
    pub fn features(&self) -> Vec<&'static str> {
        let optional = match self {
            Self::Sourced { features, .. } => features,
            Self::Private(_) => &OPTIONAL[..],
        };
        [&["lab", ONE_BUILD], optional].concat()
    }

    /// A command in the environment of this ROS 2.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Sourced { .. } => Command::new(program),
            Self::Private(private) => private.command(program),
        }
    }

    /// The environment as lines for a POSIX shell; empty for a sourced distribution, whose environment is there.
    pub fn as_shell(&self) -> String {
        match self {
            Self::Sourced { .. } => String::new(),
            Self::Private(private) => private.as_shell(),
        }
    }
}

impl fmt::Display for Ros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sourced { distro, prefix, .. } => write!(f, "ROS 2 {distro}, sourced from {}", prefix.display()),
            Self::Private(private) => write!(f, "a private ROS 2 jazzy in {}", private.folder.display()),
        }
    }
}

impl Private {
    /// That of the project in `root`, made or not.
    pub fn of(root: &Path) -> Self {
        Self { folder: root.join(".ros") }
    }

    /// The git-ignored folder that holds everything below.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The virtual environment with the wheels: rclpy, colcon, headers, libraries as published.
    pub fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// The prefix that Rust is built against: the same, with libraries that find one another.
    pub fn prefix(&self) -> PathBuf {
        self.folder.join("jazzy")
    }

    /// The Python that has rclpy.
    pub fn python(&self) -> PathBuf {
        self.venv().join("bin/python")
    }

    /// A program that came with the wheels.
    pub fn program(&self, name: &str) -> PathBuf {
        self.venv().join("bin").join(name)
    }

    /// `lib/pythonX.Y/site-packages` of the virtual environment.
    pub fn site_packages(&self) -> Result<PathBuf> {
        let lib = self.venv().join("lib");
        let python = std::fs::read_dir(&lib)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.join("site-packages").is_dir());
        match python {
            Some(path) => Ok(path.join("site-packages")),
            None => bail!("{} holds no Python packages: remove {} and try again", lib.display(), self.folder.display()),
        }
    }

    /// What the generated files and every command get; `PATH` is apart because it is extended, not set.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let libclang = self.site_packages().unwrap_or_default().join("clang/native");
        let mut variables: Vec<(&str, OsString)> = vec![
            ("ROS_DISTRO", "jazzy".into()),
            ("ROS_VERSION", "2".into()),
            ("ROS_PYTHON_VERSION", "3".into()),
            ("AMENT_PREFIX_PATH", self.prefix().into()),
            ("LIBCLANG_PATH", libclang.into()),
            ("LIENAV_PYTHON", self.python().into()), // for the tests that want rclpy or colcon
        ];
        // The wheel of libclang brings no headers of its own (stddef.h and the like): the C compiler's serve.
        if let Some(headers) = crate::tools::compiler_headers() {
            variables.push(("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{}", headers.display()).into()));
        }
        variables
    }

    /// A command in the environment of this ROS 2.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables()).env("PATH", self.path());
        command
    }

    fn path(&self) -> OsString {
        let old = env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(self.venv().join("bin")).chain(env::split_paths(&old));
        env::join_paths(dirs).unwrap_or(old)
    }

    /// See [`Ros::as_shell`].
    pub fn as_shell(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.variables() {
            text += &format!("export {name}={}\n", shell_quoted(&value.to_string_lossy()));
        }
        text + &format!("export PATH={}:\"$PATH\"\n", shell_quoted(&self.venv().join("bin").to_string_lossy()))
    }
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
