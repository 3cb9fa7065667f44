"""What slam3d_node publishes and offers beside simulator_node in space, as rclpy finds it."""

import math
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry, Path
from peer import nanos
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import PointCloud2
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray


class Face(Node):
    """What listens."""

    def __init__(self):
        """Connect."""
        super().__init__('face', parameter_overrides=[Parameter('use_sim_time', value=True)])
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.heard = {}
        for name, kind, qos in (
            ('pose', PoseWithCovarianceStamped, 100),
            ('odometry/filtered', Odometry, 1000),
            ('landmarks', PointCloud2, 10),
            ('markers', MarkerArray, 10),
            ('path', Path, 10),
            ('/tf', TFMessage, 100),
            ('/diagnostics', DiagnosticArray, 10),
            ('/slam3d_node/pose_quality', DiagnosticStatus, latched),
            ('ground_truth/pose', PoseStamped, 100),
        ):
            self.heard[name] = []
            self.create_subscription(kind, name, self.heard[name].append, qos)

    def until(self, condition, what, timeout=40.0):
        """Spin until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}'
            rclpy.spin_once(self, timeout_sec=0.01)

    def call(self, kind, name, **fields):
        """Call a service of the node."""
        client = self.create_client(kind, f'/slam3d_node/{name}')
        assert client.wait_for_service(10.0), name
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, name)
        return future.result()

    def values(self):
        """Return the values of the newest diagnostics."""
        return {v.key: v.value for v in self.heard['/diagnostics'][-1].status[0].values}


def distance(face):
    """Return how far the newest estimate that the truth has a stamp of is from it, m, and its standard deviation."""
    truth = {nanos(m.header.stamp): m.pose.position for m in face.heard['ground_truth/pose']}
    for message in reversed(face.heard['odometry/filtered']):
        place = truth.get(nanos(message.header.stamp))
        if place is not None:
            p, c = message.pose.pose.position, message.pose.covariance
            return math.dist((p.x, p.y, p.z), (place.x, place.y, place.z)), math.sqrt(c[0] + c[7] + c[14])
    return math.inf, 0.0


def main():
    """Compare with the documentation."""
    rclpy.init()
    face = Face()
    heard = face.heard
    face.until(lambda: len(heard['pose']) > 150, 'poses')
    face.until(lambda: all(heard[name] for name in heard), 'all topics')
    face.until(lambda: heard['/slam3d_node/pose_quality'][-1].message == 'ok', 'a good pose')
    off, sigma = distance(face)
    print(f'{off:.3f} m from the truth, standard deviation {sigma:.3f} m')
    assert off < 0.15 and off < 4.0 * sigma + 0.01, (off, sigma)
    pose, filtered = heard['pose'][-1], heard['odometry/filtered'][-1]
    assert pose.header.frame_id == 'map' and filtered.child_frame_id == 'base_link'
    assert all(pose.pose.covariance[7 * k] > 0.0 for k in range(6))
    assert filtered.twist.covariance[0] > 0.0 and abs(filtered.twist.twist.angular.z) > 0.1
    own = [t for m in heard['/tf'] for t in m.transforms]
    assert {(t.header.frame_id, t.child_frame_id) for t in own} == {('map', 'base_link')}
    stamps = [nanos(m.header.stamp) for m in heard['odometry/filtered']]
    assert stamps == sorted(set(stamps))
    steps = sorted(b - a for a, b in zip(stamps, stamps[1:]))
    assert steps[len(steps) // 2] == 5_000_000, 'at the rate of the inertial sensor'
    assert heard['landmarks'][-1].width > 10 and [f.name for f in heard['landmarks'][-1].fields][:4] == ['x', 'y', 'z', 'id']
    assert len(heard['markers'][-1].markers) > 10 and len(heard['path'][-1].poses) > 5
    face.until(lambda: 'step_us.p50' in face.values(), 'diagnostics')
    values = face.values()
    assert values['quality'] == 'ok' and 'dropped.too_late' in values and values['state'] == 'active', values
    print({key: values[key] for key in ('step_us.p50', 'step_us.p99', 'sample_us.p50', 'sample_us.p99')})

    saved = face.call(Trigger, 'save_map')
    assert saved.success and 'landmarks saved' in saved.message, saved.message
    loaded = face.call(Trigger, 'load_map')
    assert loaded.success and 'landmarks loaded' in loaded.message, loaded.message
    assert face.call(SetBool, 'set_enabled', data=False).success
    face.until(lambda: heard['/slam3d_node/pose_quality'][-1].message == 'starting', 'no pose')
    assert face.call(SetBool, 'set_enabled', data=True).success
    reset = face.call(Trigger, 'reset')
    assert reset.success, reset.message
    rclpy.shutdown()


main()
