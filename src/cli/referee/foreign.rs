//! Programs of others, and a plain filter in numpy: each is a script that reads the inputs of a recording and writes its
//! estimates. A script whose packages are missing says so, and its rows say why they are empty.

use std::path::Path;
use std::process::{Command, Stdio};

/// A script and what it is asked for.
pub(super) struct Program {
    script: &'static str,
    method: &'static str,
    /// The estimates that it writes, by name.
    pub(super) outputs: &'static [&'static str],
}

const PLANAR_SCRIPT: &str = include_str!("../../../benches/referee/planar.py");
const STEREO_SCRIPT: &str = include_str!("../../../benches/referee/stereo.py");
const INERTIAL_SCRIPT: &str = include_str!("../../../benches/referee/inertial.py");
const ATTITUDE_SCRIPT: &str = include_str!("../../../benches/referee/attitude.py");

/// On recordings in the plane.
pub(super) const PLANAR: [Program; 2] = [
    Program { script: PLANAR_SCRIPT, method: "numpy", outputs: &["numpy-ekf"] },
    Program { script: PLANAR_SCRIPT, method: "gtsam", outputs: &["gtsam-isam2", "gtsam-batch"] },
];

/// With velocities and a pair of cameras.
pub(super) const STEREO: [Program; 2] = [
    Program { script: STEREO_SCRIPT, method: "numpy", outputs: &["numpy-ekf"] },
    Program { script: STEREO_SCRIPT, method: "gtsam", outputs: &["gtsam-isam2", "gtsam-batch"] },
];

/// With an inertial sensor and a pair of cameras.
pub(super) const INERTIAL: [Program; 1] =
    [Program { script: INERTIAL_SCRIPT, method: "gtsam", outputs: &["gtsam-isam2", "gtsam-batch"] }];

/// Of the orientation alone.
pub(super) const ATTITUDE: [Program; 2] = [
    Program { script: ATTITUDE_SCRIPT, method: "numpy", outputs: &["numpy-mekf"] },
    Program { script: ATTITUDE_SCRIPT, method: "vqf", outputs: &["vqf"] },
];

/// A reason is no longer, in characters.
const LONGEST_REASON: usize = 160;

impl Program {
    /// Runs it, unless its estimates are there.
    ///
    /// # Errors
    /// Why there are none, in a few words.
    pub(super) fn run(&self, python: &str, inputs: &Path, estimates: &Path) -> Result<(), String> {
        let path = |name: &str| estimates.join(format!("{name}.csv"));
        if self.outputs.iter().all(|name| path(name).exists()) {
            return Ok(());
        }
        // One thread, so that sums are the same on any machine.
        let done = Command::new(python)
            .args(["-c", self.script, self.method])
            .args([inputs, estimates])
            .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"].map(|name| (name, "1")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output()
            .map_err(|error| format!("{python}: {error}; name another one with --python"))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(reason(&said).chars().take(LONGEST_REASON).collect());
        }
        // What is written whole takes its name.
        for name in self.outputs {
            let part = estimates.join(format!("{name}.csv.part"));
            std::fs::rename(&part, path(name)).map_err(|error| format!("{}: {error}", part.display()))?;
        }
        Ok(())
    }
}

/// Why a script ended: the line of its exception that names it, or its last line.
fn reason(said: &str) -> String {
    let lines = || said.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let behind = lines().skip_while(|line| !line.starts_with("Traceback")).skip(1);
    let raised: Vec<&str> = behind.skip_while(|line| line.starts_with(' ')).take(2).collect();
    let words = match raised[..] {
        [name, words] if name.ends_with(':') => format!("{name} {words}"),
        [name, ..] => name.to_owned(),
        [] => lines().next_back().unwrap_or("it failed without a word").to_owned(),
    };
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_exception_and_not_what_it_says_behind() {
        let said = "warning\nTraceback (most recent call last):\n  File x\n    y\nRuntimeError: \n  singular\nsee the manual\n";
        assert_eq!(reason(said), "RuntimeError: singular");
        assert_eq!(reason("gtsam is not installed: pip install gtsam\n"), "gtsam is not installed: pip install gtsam");
        assert_eq!(reason(""), "it failed without a word");
    }

    #[test]
    fn a_program_that_is_missing_or_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program { script: "", method: "", outputs: &["a"] };
        let why = program.run("/nowhere/python", folder.path(), folder.path()).unwrap_err();
        assert!(why.contains("--python"), "{why}");
        std::fs::write(folder.path().join("a.csv"), "").unwrap();
        assert_eq!(program.run("/nowhere/python", folder.path(), folder.path()), Ok(()));
    }
}
