mod bad_scans;
mod circles;
mod laws;
mod scenes;
mod tally;
mod tracks;
