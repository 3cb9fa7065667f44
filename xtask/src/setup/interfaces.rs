//! Packages of messages that no wheel carries, generated with ament_cmake and rosidl from the wheels and installed
//! beside them.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::ros::Private;
use crate::steps::Log;

const MANIFEST: &str = include_str!("../../ros/interfaces/package.xml");
const CMAKE: &str = include_str!("../../ros/interfaces/CMakeLists.txt");

/// A package, whose files differ from those of the others in its name and what it needs.
pub struct Package {
    pub name: &'static str,
    version: &'static str,
    depends: &'static [&'static str],
    /// Names and texts. A message comes after those that it is made of, as C++ wants it where they share a file.
    messages: &'static [(&'static str, &'static str)],
}

macro_rules! messages {
    ($package:literal: $($message:literal),*) => {
        &[$(($message, include_str!(concat!("../../ros/interfaces/", $package, "/", $message, ".msg")))),*]
    };
}

/// tf2_msgs is what the nodes need; the others are for the features of the same names.
pub const PACKAGES: [Package; 3] = [
    Package {
        name: "tf2_msgs",
        version: "0.36.0",
        depends: &["geometry_msgs"],
        messages: messages!("tf2_msgs": "TFMessage"),
    },
    Package {
        name: "apriltag_msgs",
        version: "2.0.1",
        depends: &["std_msgs"],
        messages: messages!("apriltag_msgs": "Point", "AprilTagDetection", "AprilTagDetectionArray"),
    },
    Package {
        name: "vision_msgs",
        version: "4.1.1",
        depends: &["geometry_msgs", "std_msgs"],
        messages: messages!(
            "vision_msgs": "BoundingBox3D", "ObjectHypothesis", "ObjectHypothesisWithPose", "Detection3D",
            "Detection3DArray"
        ),
    },
];

impl Package {
    /// Its files: where in its folder, and what.
    fn files(&self) -> Vec<(String, String)> {
        let tags = self.depends.iter().map(|depend| format!("  <depend>{depend}</depend>")).collect::<Vec<_>>();
        let places = self.messages.iter().map(|(name, _)| format!("msg/{name}.msg")).collect::<Vec<_>>();
        let filled = |text: &str| {
            text.replace("@PACKAGE@", self.name)
                .replace("@VERSION@", self.version)
                .replace("@MESSAGES@", &places.join(" "))
                .replace("@DEPENDS@", &self.depends.join(" "))
                .replace("@DEPEND_TAGS@", &tags.join("\n"))
        };
        let own = [("package.xml".to_owned(), filled(MANIFEST)), ("CMakeLists.txt".to_owned(), filled(CMAKE))];
        let messages = places.into_iter().zip(self.messages.iter().map(|(_, text)| (*text).to_owned()));
        own.into_iter().chain(messages).collect()
    }
}

/// What the packages are made of.
pub fn sources() -> String {
    PACKAGES.iter().flat_map(Package::files).map(|(_, text)| text).collect()
}

/// Their names, as a list.
pub fn names() -> String {
    PACKAGES.map(|package| package.name).join(", ")
}

/// Builds the packages, of which none needs another, at once, and installs them into the virtual environment.
pub fn build(private: &Private, log: &Log) -> Result<()> {
    retarget_exports(private)?;
    std::thread::scope(|scope| {
        let builds: Vec<_> = PACKAGES.iter().map(|package| scope.spawn(|| build_one(package, private, log))).collect();
        builds.into_iter().try_for_each(|build| build.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn build_one(package: &Package, private: &Private, log: &Log) -> Result<()> {
    let name = package.name;
    let source = private.folder().join("build").join(name);
    fs::create_dir_all(source.join("msg"))?;
    for (file, text) in package.files() {
        fs::write(source.join(file), text)?;
    }

    let build = private.folder().join("build").join(format!("{name}.build"));
    let venv = private.venv();
    let mut configure = cmake(private);
    // Little is sent in a test: to optimize what packs it would take longer.
    configure.args(["-G", "Ninja", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=None"]);
    configure.arg(format!("-DCMAKE_INSTALL_PREFIX={}", venv.display()));
    configure.arg(format!("-DPython3_EXECUTABLE={}", private.python().display()));
    configure.arg("-S").arg(&source).arg("-B").arg(&build);
    log.run(&mut configure).with_context(|| format!("{name} could not be configured"))?;
    for step in ["--build", "--install"] {
        log.run(cmake(private).arg(step).arg(&build)).with_context(|| format!("{name} could not be built"))?;
    }
    Ok(())
}

fn cmake(private: &Private) -> Command {
    let mut command = private.command(private.program("cmake"));
    // The wheels themselves, not the prefix for Rust, which is made of them afterwards.
    command.env("AMENT_PREFIX_PATH", private.venv()).env("CMAKE_PREFIX_PATH", private.venv());
    command
}

/// The wheels' exported CMake targets name the folders of Python's and NumPy's headers on the machine that built them.
/// They get this machine's; where Python has no headers, a folder that exists, which is all CMake asks for.
fn retarget_exports(private: &Private) -> Result<()> {
    let report = "import sysconfig; print(sysconfig.get_path('include'))";
    let output = Command::new(private.python()).args(["-c", report]).output()?;
    let headers = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let headers = if headers.join("Python.h").is_file() {
        headers
    } else {
        eprintln!(
            "      Python has no headers (python3-dev): rclpy will not know the packages made here, all else works"
        );
        private.venv().join("include")
    };
    let numpy = private.site_packages()?.join("numpy/_core/include");

    for package in fs::read_dir(private.venv().join("share"))? {
        let Ok(files) = fs::read_dir(package?.path().join("cmake")) else { continue };
        for file in files {
            let file = file?.path();
            let text = fs::read_to_string(&file).unwrap_or_default();
            if text.contains("/opt/python/") {
                fs::write(&file, retargeted(&text, &headers, &numpy))?;
            }
        }
    }
    Ok(())
}

fn retargeted(text: &str, headers: &Path, numpy: &Path) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("/opt/python/") {
        let length = rest[begin..].find([';', '"']).unwrap_or(rest.len() - begin);
        let foreign = &rest[begin..begin + length];
        result += &rest[..begin];
        result += &(if foreign.contains("numpy") { numpy } else { headers }).to_string_lossy();
        rest = &rest[begin + length..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_machine_that_built_the_wheels_are_replaced_and_nothing_else() {
        let text = r#"A "/opt/python/cp311-cp311/include/python3.11;/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include" B "/opt/ros""#;
        let result = retargeted(text, Path::new("/h"), Path::new("/n"));
        assert_eq!(result, r#"A "/h;/n" B "/opt/ros""#);
        assert_eq!(retargeted("nothing to do", Path::new("/h"), Path::new("/n")), "nothing to do");
    }
}
