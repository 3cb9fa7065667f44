//! Quality of service: sensor data in, reliable out.

use r2r::QosProfile;

/// For what comes from sensors: best effort and volatile, as `rclcpp::SensorDataQoS`, so that it matches every
/// publisher. Deeper than the 5 of that profile: a bag played fast, or a busy machine, delivers in bursts.
pub fn sensor_data() -> QosProfile {
    QosProfile::sensor_data().keep_last(200)
}

/// The same for sensors of a kilohertz: two seconds of them may wait for a node that gets no processor time.
pub fn fast_sensor_data() -> QosProfile {
    QosProfile::sensor_data().keep_last(2000)
}

/// For what subscribers must not miss: reliable and volatile. It matches subscribers of either kind.
pub fn reliable() -> QosProfile {
    QosProfile::default().reliable().volatile().keep_last(100)
}

/// For what stays true until the next message (maps, static transforms): reliable, and given to those who come later.
pub fn latched() -> QosProfile {
    QosProfile::default().reliable().transient_local().keep_last(1)
}

/// For static transforms, of however many publishers: reliable, and what was said before.
pub fn static_transforms() -> QosProfile {
    latched().keep_last(100)
}

/// For log lines, as rclcpp has it: reliable, and the last thousand for those who come later.
pub fn rosout() -> QosProfile {
    QosProfile::default().reliable().transient_local().keep_last(1000)
}
