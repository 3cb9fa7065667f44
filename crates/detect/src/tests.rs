mod bad_scans;
mod circles;
mod documents;
mod laws;
mod scenes;
mod tally;
mod tracks;
