//! The full name of a topic, as rcl makes it: expanded by namespace and node, and remapped by the command line. r2r
//! does not say what a topic is called in the end.

use super::arguments::RosArguments;

/// What names depend on.
#[derive(Clone, Debug, Default)]
pub struct Names {
    node: String,
    namespace: String,
    /// (from, to), as written.
    rules: Vec<(String, String)>,
}

impl Names {
    /// Those of `node`, with the command line of this process.
    ///
    /// # Errors
    /// The node has no name.
    pub fn of(node: &r2r::Node) -> r2r::Result<Self> {
        let rules = RosArguments::read(std::env::args()).remappings;
        Ok(Self { node: node.name()?, namespace: node.namespace()?, rules })
    }

    /// The full name of a topic.
    pub fn resolve(&self, topic: &str) -> String {
        let full = self.expand(topic);
        let rule =
            self.rules.iter().find(|(from, _)| self.applicable(from).is_some_and(|from| self.expand(from) == full));
        rule.map_or(full, |(_, to)| self.expand(to))
    }

    fn expand(&self, name: &str) -> String {
        let namespace = self.namespace.trim_end_matches('/');
        if name.starts_with('/') {
            return name.to_owned();
        }
        match name.strip_prefix('~') {
            Some(rest) => format!("{namespace}/{}{rest}", self.node),
            None => format!("{namespace}/{name}"),
        }
    }

    /// The name that a rule is about, if it is about topics of this node: `name`, `node:name`, `rostopic://name`.
    fn applicable<'a>(&self, from: &'a str) -> Option<&'a str> {
        let from = from.strip_prefix("rostopic://").unwrap_or(from);
        match from.split_once(':') {
            None => (!from.starts_with("__")).then_some(from),
            Some((node, from)) => (node == self.node && !from.starts_with("//")).then_some(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_expanded_and_remapped_as_rcl_does() {
        let rules = [
            ("odom", "/wheels/odometry"),
            ("__node", "slam"),
            ("slam:features", "tags"),
            ("other:pose", "nowhere"),
            ("rostopic://path", "way"),
            ("rosservice://landmarks", "nowhere"),
            ("/tf", "tf"),
            ("~/quality", "~/q"),
            ("odom", "second"),
        ];
        let rules = rules.map(|(from, to)| (from.to_owned(), to.to_owned())).to_vec();
        let names = Names { node: "slam".into(), namespace: "/robot_1".into(), rules };
        for (topic, full) in [
            ("odom", "/wheels/odometry"),
            ("/robot_1/odom", "/wheels/odometry"),
            ("features", "/robot_1/tags"),
            ("pose", "/robot_1/pose"),
            ("path", "/robot_1/way"),
            ("landmarks", "/robot_1/landmarks"),
            ("/tf", "/robot_1/tf"),
            ("~/quality", "/robot_1/slam/q"),
            ("~/event", "/robot_1/slam/event"),
        ] {
            assert_eq!(names.resolve(topic), full, "{topic}");
        }
        let names = Names { node: "slam".into(), namespace: "/".into(), ..Names::default() };
        assert_eq!((names.resolve("odom"), names.resolve("~/x")), ("/odom".into(), "/slam/x".into()));
    }
}
