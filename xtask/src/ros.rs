//! Which ROS 2 is used, and the environment that belongs to it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::checks::ONE_BUILD;

/// The distributions that r2r 0.9.7 builds against, by the names that it has for them.
const KNOWN_TO_R2R: [&str; 7] = ["foxy", "galactic", "humble", "iron", "jazzy", "lyrical", "rolling"];

/// Distributions that r2r 0.9.7 has no name for, with the one by whose name it builds against their headers.
const AS_ANOTHER: [(&str, &str); 1] = [("kilted", "jazzy")];

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
    /// The private ROS 2 of this project, see [`crate::setup`].
    Private(Private),
}

/// What a private ROS 2 can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// The one that is made where nothing else is asked for.
    Jazzy,
    /// Asked for by [`Distribution::VARIABLE`].
    Kilted,
}

/// Where the parts of a private ROS 2 lie.
#[derive(Clone)]
pub struct Private {
    pub distribution: Distribution,
    folder: PathBuf,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Jazzy, Self::Kilted];
    /// The variable that says which is wanted.
    pub const VARIABLE: &str = "LIENAV_ROS";

    /// The one of this name, Jazzy without a name.
    ///
    /// Errors: no distribution has this name.
    fn named(name: Option<&str>) -> Result<Self> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(Self::Jazzy) };
        match Self::ALL.into_iter().find(|distribution| distribution.name() == name) {
            Some(distribution) => Ok(distribution),
            None => bail!("{}={name}: set it to {}", Self::VARIABLE, Self::ALL.map(Self::name).join(" or ")),
        }
    }

    /// As ROS 2 spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jazzy => "jazzy",
            Self::Kilted => "kilted",
        }
    }

    /// The git-ignored folder of it in a checkout.
    fn folder(self) -> &'static str {
        match self {
            Self::Jazzy => ".ros",
            Self::Kilted => ".ros-kilted",
        }
    }
}

/// What `ROS_DISTRO` is to be while r2r is built, where that is another name than the distribution's own.
///
/// Errors: r2r does not build against this distribution.
fn name_for_r2r(distro: &str) -> Result<Option<&'static str>> {
    if KNOWN_TO_R2R.contains(&distro) {
        return Ok(None);
    }
    match AS_ANOTHER.into_iter().find(|(own, _)| *own == distro) {
        Some((_, other)) => Ok(Some(other)),
        None => bail!(
            "the sourced ROS 2 is '{distro}', which r2r does not know: source one of {}, kilted or none at all",
            KNOWN_TO_R2R.join(", ")
        ),
    }
}

impl Ros {
    /// The sourced distribution, if there is one, or else the private ROS 2 of the project, made or not.
    ///
    /// Errors: a distribution is sourced, but r2r does not know it or it lacks packages; no private one is of the name
    /// that is asked for.
    pub fn chosen(root: &Path) -> Result<Self> {
        let is_private =
            |prefix: &PathBuf| Distribution::ALL.iter().any(|it| prefix.starts_with(root.join(it.folder())));
        let prefixes: Vec<PathBuf> = env::var_os("AMENT_PREFIX_PATH")
            .map(|value| env::split_paths(&value).filter(|prefix| !is_private(prefix)).collect())
            .unwrap_or_default();
        let Some(prefix) = prefixes.iter().find(|prefix| prefix.join("share/rcl").is_dir()) else {
            let wanted = env::var(Distribution::VARIABLE).ok();
            return Ok(Self::Private(Private::of(root, Distribution::named(wanted.as_deref())?)));
        };

        let distro = env::var("ROS_DISTRO").unwrap_or_default();
        name_for_r2r(&distro)?;
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
        let mut command = match self {
            Self::Sourced { .. } => Command::new(program),
            Self::Private(private) => private.command(program),
        };
        if let Ok(Some(name)) = name_for_r2r(self.distribution()) {
            command.env("ROS_DISTRO", name);
        }
        command
    }

    /// The environment as lines for a POSIX shell: what a sourced distribution does not bring.
    pub fn as_shell(&self) -> String {
        let mut text = match self {
            Self::Sourced { .. } => String::new(),
            Self::Private(private) => private.as_shell(),
        };
        if let Ok(Some(name)) = name_for_r2r(self.distribution()) {
            text += &format!("export ROS_DISTRO={name}\n");
        }
        text
    }

    fn distribution(&self) -> &str {
        match self {
            Self::Sourced { distro, .. } => distro,
            Self::Private(private) => private.distribution.name(),
        }
    }
}

impl fmt::Display for Ros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sourced { distro, prefix, .. } => write!(f, "ROS 2 {distro}, sourced from {}", prefix.display()),
            Self::Private(private) => {
                write!(f, "a private ROS 2 {} in {}", private.distribution.name(), private.folder.display())
            }
        }
    }
}

impl Private {
    /// That of the project in `root`, made or not.
    pub fn of(root: &Path, distribution: Distribution) -> Self {
        Self { distribution, folder: root.join(distribution.folder()) }
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
        self.folder.join(self.distribution.name())
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
            ("ROS_DISTRO", self.distribution.name().into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_ros_is_of_the_distribution_that_is_asked_for() {
        assert_eq!(Distribution::named(None).unwrap(), Distribution::Jazzy);
        assert_eq!(Distribution::named(Some("")).unwrap(), Distribution::Jazzy);
        for distribution in Distribution::ALL {
            assert_eq!(Distribution::named(Some(distribution.name())).unwrap(), distribution);
        }
        let error = Distribution::named(Some("humble")).unwrap_err().to_string();
        assert_eq!(error, "LIENAV_ROS=humble: set it to jazzy or kilted");
    }

    #[test]
    fn r2r_gets_a_name_that_it_knows() {
        assert_eq!(name_for_r2r("jazzy").unwrap(), None);
        let other = name_for_r2r("kilted").unwrap().unwrap();
        assert!(KNOWN_TO_R2R.contains(&other));
        assert!(name_for_r2r("ardent").unwrap_err().to_string().contains("'ardent', which r2r does not know"));
        let kilted = Ros::Private(Private::of(Path::new("/nowhere"), Distribution::Kilted));
        assert!(kilted.as_shell().ends_with("export ROS_DISTRO=jazzy\n"), "{}", kilted.as_shell());
    }
}
