//! The nodes over ROS 2: processes that exchange messages, and rclpy as the foreign peer.
//!
//! Each test has a ROS domain of its own and stays on this machine. What needs rclpy is skipped, and says so, where no
//! Python has it: `LIENAV_PYTHON` names one that does.

#![cfg(feature = "ros")]

mod attitude;
mod bags;
mod damaged;
mod faults;
mod inputs;
mod intake;
mod live_page;
mod managed;
mod map;
mod nodes;
mod outside;
mod parts;
mod peers;
mod process;
mod record;
mod security;
mod space;
mod space_detector;
mod space_tags;
mod statements;
mod strangers;
