//! rosbag2 bags, read and written without ROS.

pub mod cloud;
