"""Sources that contradict themselves, to a running slam_node with use_imu and gnss.use_fix.

The twist of odom has the wrong sign, imu is stamped by another clock and measures in g, and fix states a variance of 0 as
known. The estimate is worth nothing then; the node has to name all four.
"""

import rclpy
from peer import Peer, stamp_into
from sensor_msgs.msg import NavSatFix

WARN = 1
TAI_NS = 37_000_000_000


class Liar(Peer):
    """A robot whose drivers are wrong."""

    def __init__(self):
        """Beside the others, a receiver."""
        super().__init__()
        self.fix = self.create_publisher(NavSatFix, 'fix', 100)

    def odometry(self, ns=None):
        """The pose goes ahead, and the twist back."""
        message = super().odometry(ns)
        message.twist.twist.linear.x *= -1.0
        return message

    def turned(self):
        """At rest, in g, by the clock of satellites."""
        message = super().turned()
        stamp_into(message.header.stamp, self.now_ns + TAI_NS)
        message.linear_acceleration.z = 1.0
        return message

    def located(self):
        """A fix that is certain beyond all measure."""
        message = NavSatFix(latitude=48.0, longitude=11.0 + 1.3e-5 * self.x, altitude=500.0)
        stamp_into(message.header.stamp, self.now_ns)
        message.header.frame_id = 'base_link'
        message.status.status = 0
        message.position_covariance_type = 2
        return message


def main():
    """Drive until everything has been named."""
    liar = Liar()
    liar.connect(imu=True)
    wanted = (
        'the pose moves at 1.00 m/s, the twist says 1.00 m/s, and they are 2.00 m/s apart',
        'imu is stamped 37.0 s ahead of odom',
        'TAI',
        'at rest the force of imu is 1.00 m/s², and gravity is 9.81 m/s²',
        'fixes of fix state a variance of 0',
    )
    for _ in range(4000):
        liar.k += liar.running
        liar.running = True
        liar.imu.publish(liar.turned())
        liar.odom.publish(liar.odometry())
        if liar.k % 10 == 0:
            liar.fix.publish(liar.located())
        rclpy.spin_once(liar, timeout_sec=0.005)
        said = liar.diagnostics[-1].status[0].message if liar.diagnostics else ''
        if liar.k > 600 and all(words in said for words in wanted):
            break
    level, said, _ = liar.next_status()
    missing = [words for words in wanted if words not in said]
    assert not missing and level >= WARN, (missing, level, said)
    print('all contradictions were named')


if __name__ == '__main__':
    rclpy.init()
    main()
