//! The ROS face: conversions, parameters, quality of service, time, and one file per node.
