//! What the command line asks of every node: the flags that rcl knows, the level of its log.

/// From which severity on a line is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Helps to find out why something happens.
    Debug,
    /// What a user may want to know.
    Info,
    /// What a user should know.
    Warn,
    /// What stops part of the node.
    Error,
    /// What stops the node.
    Fatal,
}

impl Severity {
    /// The value of `rcl_interfaces/msg/Log.level`.
    pub fn value(self) -> u8 {
        match self {
            Self::Debug => 10,
            Self::Info => 20,
            Self::Warn => 30,
            Self::Error => 40,
            Self::Fatal => 50,
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal]
            .into_iter()
            .find(|severity| word.eq_ignore_ascii_case(&format!("{severity:?}")))
    }
}

/// What the command line says about the log, and which of its words nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosArguments {
    /// (logger, severity) in their order; the logger is empty for all.
    levels: Vec<(String, Severity)>,
    /// Whether log lines are not to be published on `/rosout`.
    pub without_rosout: bool,
    /// Remappings (from, to), in their order.
    pub remappings: Vec<(String, String)>,
    /// The parameter files, in their order.
    pub params_files: Vec<String>,
    /// Words between `--ros-args` and `--` that rcl does not know.
    pub unknown: Vec<String>,
    /// Words outside of these, which are not of ROS.
    pub outside: Vec<String>,
}

/// Flags of rcl with a value behind them.
const WITH_VALUE: [&str; 10] = [
    "-r",
    "--remap",
    "-p",
    "--param",
    "--params-file",
    "--log-level",
    "--log-config-file",
    "--log-file-name",
    "-e",
    "--enclave",
];

/// Flags of rcl without one: `--enable-X` and `--disable-X`.
const SWITCHES: [&str; 3] = ["rosout-logs", "stdout-logs", "external-lib-logs"];

impl RosArguments {
    /// Reads a command line, the program first.
    pub fn read(words: impl Iterator<Item = String>) -> Self {
        let mut arguments = Self::default();
        let mut is_of_ros = false;
        let mut words = words.skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--ros-args" => is_of_ros = true,
                "--" => is_of_ros = false,
                _ if !is_of_ros => arguments.outside.push(word),
                flag if WITH_VALUE.contains(&flag) => {
                    let value = words.next().unwrap_or_default();
                    match flag {
                        "--log-level" => arguments.add_level(&value),
                        "-r" | "--remap" => arguments.add_remapping(&value),
                        "--params-file" => arguments.params_files.push(value),
                        _ => (),
                    }
                }
                // The form of before Foxy, which rcl still takes for a remapping.
                rule if rule.contains(":=") => arguments.add_remapping(rule),
                flag => arguments.switch(flag),
            }
        }
        arguments
    }

    fn add_remapping(&mut self, rule: &str) {
        if let Some((from, to)) = rule.split_once(":=") {
            self.remappings.push((from.to_owned(), to.to_owned()));
        }
    }

    fn add_level(&mut self, value: &str) {
        let (logger, level) = value.split_once(":=").unwrap_or(("", value));
        // rcl refuses other levels itself.
        if let Some(severity) = Severity::named(level) {
            self.levels.push((logger.to_owned(), severity));
        }
    }

    fn switch(&mut self, flag: &str) {
        let switch = |prefix: &str| flag.strip_prefix(prefix).filter(|name| SWITCHES.contains(name));
        match (switch("--enable-"), switch("--disable-")) {
            (Some("rosout-logs"), _) => self.without_rosout = false,
            (_, Some("rosout-logs")) => self.without_rosout = true,
            (None, None) => self.unknown.push(flag.to_owned()),
            _ => (),
        }
    }

    /// The level of a logger: that of the longest name which it begins with, such as `robot_1` for `robot_1.slam_node`;
    /// of two for the same name, the last.
    pub fn level(&self, logger: &str) -> Severity {
        let covers = |name: &str| {
            name.is_empty() || logger.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let fitting = self.levels.iter().filter(|(name, _)| covers(name));
        fitting.max_by_key(|(name, _)| name.len()).map_or(Severity::Info, |(_, severity)| *severity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> RosArguments {
        RosArguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_that_rcl_does_not_know_are_found() {
        let known = "node --mine --ros-args -r a:=b -p x:=-1 --params-file f.yaml --enclave /e --log-level warn \
            __node:=n --disable-stdout-logs --enable-external-lib-logs -- --yours";
        assert_eq!(read(known).unknown, [""; 0]);
        assert_eq!(read(known).params_files, ["f.yaml"]);
        let rules = [("a", "b"), ("__node", "n")].map(|(from, to)| (from.to_owned(), to.to_owned()));
        assert_eq!(read(known).remappings, rules);
        assert_eq!(read("node --ros-args --bogus 1 -p a:=1").unknown, ["--bogus", "1"]);
        assert_eq!(read("node --ros-args --disable-everything").unknown, ["--disable-everything"]);
        assert_eq!(read("node --bogus 1").unknown, [""; 0]);
        assert_eq!(read("node --bogus 1 --ros-args -p a:=1 -- --yours").outside, ["--bogus", "1", "--yours"]);
        assert_eq!(read("node --ros-args -p a:=1").outside, [""; 0]);
    }

    #[test]
    fn the_level_is_that_of_the_longest_name() {
        let level = |line: &str| read(line).level("robot_1.slam_node");
        assert_eq!(level("node"), Severity::Info);
        assert_eq!(level("node --ros-args --log-level WARN"), Severity::Warn);
        assert_eq!(level("node --ros-args --log-level robot_1.slam_node:=debug --log-level error"), Severity::Debug);
        assert_eq!(level("node --ros-args --log-level robot_1:=error --log-level robot:=debug"), Severity::Error);
        assert_eq!(level("node --ros-args --log-level debug --log-level fatal"), Severity::Fatal);
        assert_eq!(level("node --log-level debug"), Severity::Info);
    }

    #[test]
    fn rosout_can_be_switched_off() {
        assert!(!read("node").without_rosout);
        assert!(read("node --ros-args --disable-rosout-logs").without_rosout);
        assert!(!read("node --ros-args --disable-rosout-logs --enable-rosout-logs").without_rosout);
    }
}
