//! Topics and messages of a bag, and what a storage file has to offer.

use lienav_base::stamp::Stamp;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, as recorded.
    pub name: String,
    /// `package/msg/Type`; empty where the bag does not say. `package/Type` and the names of DDS types, as converters
    /// write them for messages in CDR, are brought to this form.
    pub type_name: String,
    /// How its messages are serialised: `cdr`, or `ros1` in a bag of ROS 1 that was packed as MCAP.
    pub encoding: String,
    /// The profiles of its publishers, as YAML; empty where the bag does not say.
    pub qos: String,
}

/// A message as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which of [`BagReader::topics`](super::BagReader::topics).
    pub topic: usize,
    /// When it was received.
    pub log_time: Stamp,
    /// When it was published; the former where the storage does not know.
    pub publish_time: Stamp,
    /// Its content, CDR header in front.
    pub data: Vec<u8>,
}

/// One storage file.
pub(super) trait Storage: Send {
    /// What it holds; [`Record::topic`] of its records counts these.
    fn topics(&self) -> &[Topic];
    /// Stamps of the first and the last record.
    fn bounds(&self) -> Option<(Stamp, Stamp)>;
    /// How many records it holds, damaged ones included.
    fn message_count(&self) -> u64;
    /// Reads only the topics that are marked, and leaves messages out that are longer than so many bytes. Begins anew.
    fn select(&mut self, wanted: &[bool], longest_message: u64);
    /// The next record in the order of time.
    fn next(&mut self) -> Option<Record>;
    /// Goes to the first record that was received at `from` or later.
    fn seek(&mut self, from: Stamp);
    /// What was found to be damaged, one sentence each, since the last call.
    fn take_warnings(&mut self) -> Vec<String>;
}
