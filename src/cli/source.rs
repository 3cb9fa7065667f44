//! What is read: a source, and which of its topics.

use super::failure::Failure;
use super::layers::Layers;
use super::progress;
use lienav_io::bag::Topics;
use lienav_io::recording::{OpenError, Recording, Stream, open_with, stream};

/// A source and the topics to read from it.
#[derive(clap::Args)]
pub(super) struct Source {
    /// Bag (folder, .mcap or .db3), woods:FOLDER, mrclam:FOLDER:ROBOT, victoria:FOLDER, plaza:FOLDER or
    /// g2o:FILE[:TRUTH]; in space euroc-tracks:FOLDER, starloc:FOLDER, starry:FOLDER or space:NAME[:SEED]
    source: String,
    #[command(flatten)]
    topics: TopicArgs,
}

impl Source {
    /// What was given, if it is a recording in space.
    pub(super) fn in_space(&self) -> Option<&str> {
        super::space::is_in_space(&self.source).then_some(self.source.as_str())
    }

    /// Opens it without reading its input, with the inputs and frames that a parameter file states.
    ///
    /// # Errors
    /// As [`Source::open`]; the file cannot be read.
    pub(super) fn stream(&self, layers: &Layers) -> Result<Stream, Failure> {
        let (frames, parameters) = (layers.frames()?, layers.inputs()?);
        open_stream(&self.source, &Topics { frames, parameters, ..(&self.topics).into() })
    }

    /// Reads it.
    ///
    /// # Errors
    /// A wrong call where it is no source at all; a failure where it cannot be read.
    pub(super) fn open(&self) -> Result<Recording, Failure> {
        open(&self.source, &(&self.topics).into())
    }
}

/// Which topics of a bag to read.
#[derive(clap::Args)]
#[command(next_help_heading = "Topics of a bag, where they have other than the usual names")]
pub(super) struct TopicArgs {
    /// nav_msgs/Odometry [usually: /odom]
    #[arg(long, value_name = "TOPIC")]
    odom_topic: Option<String>,
    /// sensor_msgs/PointCloud2 [usually: /features]
    #[arg(long, value_name = "TOPIC")]
    features_topic: Option<String>,
    /// sensor_msgs/Imu [usually: /imu]
    #[arg(long, value_name = "TOPIC")]
    imu_topic: Option<String>,
    /// PoseStamped, PoseWithCovarianceStamped or Odometry [usually: /ground_truth/pose]
    #[arg(long, value_name = "TOPIC")]
    truth_topic: Option<String>,
    /// sensor_msgs/PointCloud2 [usually: /ground_truth/landmarks]
    #[arg(long, value_name = "TOPIC")]
    landmarks_topic: Option<String>,
}

impl From<&TopicArgs> for Topics {
    fn from(args: &TopicArgs) -> Self {
        Self {
            odometry: args.odom_topic.clone(),
            features: args.features_topic.clone(),
            imu: args.imu_topic.clone(),
            truth: args.truth_topic.clone(),
            true_landmarks: args.landmarks_topic.clone(),
            ..Self::default()
        }
    }
}

/// Reads a source, as [`Source::open`] does.
pub(super) fn open(source: &str, topics: &Topics) -> Result<Recording, Failure> {
    told(source, || open_with(source, topics))
}

/// Opens a source without reading its input.
pub(super) fn open_stream(source: &str, topics: &Topics) -> Result<Stream, Failure> {
    told(source, || stream(source, topics))
}

fn told<T>(source: &str, open: impl FnOnce() -> Result<T, OpenError>) -> Result<T, Failure> {
    let spinner = progress::spinner(format!("reading {source}"));
    let result = open();
    spinner.finish_and_clear();
    // A path that leads nowhere has failed; KIND:FOLDER that cannot be one is a wrong call.
    result.map_err(|error| match error {
        OpenError::Source { .. } if source.contains(':') => Failure::WrongCall(error.to_string()),
        _ => Failure::failed(error),
    })
}
