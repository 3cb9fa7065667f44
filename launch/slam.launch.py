"""Landmark SLAM for a robot: one slam_node, and rviz2 where it is asked for.

This is the file to include from a robot's own launch file:

    IncludeLaunchDescription(
        PythonLaunchDescriptionSource([FindPackageShare('lienav'), '/launch/slam.launch.py']),
        launch_arguments={'odom': '/wheels/odometry', 'params_file': my_params}.items())
"""

import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = Path(get_package_share_directory('lienav'))

# What config/lienav.rviz shows or sends. Remapped into the namespace of the node, because an rviz
# file holds absolute names.
RVIZ_TOPICS = (
    'pose',
    'path',
    'landmarks',
    'markers',
    'initialpose',
    'ground_truth/path',
    'ground_truth/landmarks',
)

# What is in the namespace of an isolated robot, as Nav2 has it.
SHARED_TOPICS = ('tf', 'tf_static', 'clock')

# Of AMCL, whose subscribers ask for the last message, too.
AMCL_POSE = 'amcl_pose'

FRAMES = {
    'map_frame': 'map',
    'odom_frame': 'odom',
    'base_frame': 'base_link',
    'sensor_frame': 'feature_sensor',
    'imu_frame': 'imu_link',
}

FILTERS = (
    'default invariant cartesian log-range inverse-range unsplit iterated anchored reduced '
    'ekf fe-ekf oc-ekf thesis-reduced thesis-ekf thesis-fe-ekf thesis-oc-ekf'
).split()

ARGUMENTS = [
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the node and of its topics.'
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'slam.yaml'),
        description='Parameters of slam_node. What a file leaves out keeps its default.',
    ),
    DeclareLaunchArgument(
        'filter',
        default_value='',
        choices=['', *FILTERS],
        description='Which filter runs; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'map',
        default_value='',
        description='File of the map: read at the start, written by ~/save_map; empty: as '
        'params_file says.',
    ),
    DeclareLaunchArgument(
        'mode',
        default_value='',
        choices=['', 'mapping', 'localization', 'extend'],
        description='What becomes of the map; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'start',
        default_value='',
        choices=['', 'given', 'unknown'],
        description='Whether the start is known; unknown: the robot is searched for in the map. '
        'Empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'odom',
        default_value='odom',
        description='Topic of the odometry, of which the twist is used; see odom_message.',
    ),
    DeclareLaunchArgument(
        'features',
        default_value='features',
        description='Topic of the features; see features_message.',
    ),
    DeclareLaunchArgument(
        'features_message',
        default_value='',
        choices=['', 'cloud', 'pose_array', 'detections', 'apriltags'],
        description='Type of the messages on features: sensor_msgs/PointCloud2 (cloud), '
        'geometry_msgs/PoseArray (pose_array), and where lienav is built with them '
        'vision_msgs/Detection3DArray (detections) and apriltag_msgs/AprilTagDetectionArray '
        '(apriltags); empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'camera_info',
        default_value='camera_info',
        description='Topic of sensor_msgs/CameraInfo, for features_message:=apriltags.',
    ),
    DeclareLaunchArgument(
        'odom_message',
        default_value='',
        choices=['', 'odometry', 'twist'],
        description='Type of the messages on odom: nav_msgs/Odometry (odometry) or '
        'geometry_msgs/TwistWithCovarianceStamped (twist); empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'tags',
        default_value='',
        description='Patterns of the frames of tags on /tf, such as tag36h11:{id} of apriltag_ros, '
        'marker_{id} of aruco_opencv or dock=500, apart by spaces; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'tag_size_m',
        default_value='',
        description='Edge of a tag, m; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'pose',
        default_value='pose',
        description='Topic of the pose after each cloud: amcl_pose for what listens to AMCL.',
    ),
    DeclareLaunchArgument(
        'map_frame',
        default_value='',
        description='Frame of the map; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'odom_frame',
        default_value='',
        description='Frame of the odometry; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'base_frame',
        default_value='',
        description='Frame of the robot; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'sensor_frame',
        default_value='',
        description='Frame of the feature sensor where its place is a parameter; empty: as '
        'params_file says.',
    ),
    DeclareLaunchArgument(
        'imu',
        default_value='imu',
        description='Topic of the gyroscope (sensor_msgs/Imu); naming another one means to use it.',
    ),
    DeclareLaunchArgument(
        'use_imu',
        default_value='auto',
        choices=['auto', 'true', 'false', 'params'],
        description='Whether the yaw rate comes from the gyroscope. auto: where imu names another '
        'topic than its default, and otherwise as params_file says; params: as params_file says.',
    ),
    DeclareLaunchArgument(
        'publish_tf',
        default_value='',
        choices=['', 'true', 'false'],
        description='Whether the transform from map to odom is published; empty: as params_file '
        'says.',
    ),
    DeclareLaunchArgument(
        'max_latency_s',
        default_value='',
        description='Where a newer cloud waits, one whose pose would come out later than this is '
        'skipped, s; empty: as params_file says. 60.0 for data that is played fast.',
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='',
        choices=['', 'true', 'false'],
        description='Whether the node configures and activates itself; false: a lifecycle manager '
        'does. Empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Whether time comes from /clock: true with a simulator or a bag.',
    ),
    DeclareLaunchArgument(
        'frame_prefix',
        default_value='',
        description='Put before the names of all frames, such as robot_1/; the names are then the '
        'defaults, not those of params_file.',
    ),
    DeclareLaunchArgument(
        'isolated',
        default_value='false',
        choices=['true', 'false'],
        description='Whether /tf, /tf_static and /clock are those of the namespace: for several '
        'robots beside each other whose frames have the same names.',
    ),
    DeclareLaunchArgument(
        'enclave',
        default_value='',
        description='SROS2 enclave to run in, such as /lienav/slam_node; empty: none. The security of '
        'ROS 2 is switched on by ROS_SECURITY_ENABLE and ROS_SECURITY_KEYSTORE.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on slam_node logs.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=['true', 'false'],
        description='Whether rviz2 is opened as well.',
    ),
    DeclareLaunchArgument(
        'rviz_config',
        default_value=str(SHARE / 'config' / 'lienav.rviz'),
        description='What rviz2 shows.',
    ),
]


def generate_launch_description():
    """Return slam_node and, where asked for, rviz2."""
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=slam), OpaqueFunction(function=rviz)]
    )


def slam(context):
    """Return slam_node; an argument left empty leaves its parameter to params_file."""
    if not Path(given(context, 'params_file')).is_file():
        # launch only warns of it, and the robot would drive with the defaults.
        raise RuntimeError(f"params_file: there is no file '{given(context, 'params_file')}'")
    number(context, 'max_latency_s')
    number(context, 'tag_size_m')
    overrides = {'use_sim_time': typed('use_sim_time', bool), **imu(context), **frames(context)}
    for name, kind in (
        ('filter', str),
        ('publish_tf', bool),
        ('autostart', bool),
        ('max_latency_s', float),
    ):
        if given(context, name):
            overrides[name] = typed(name, kind)
    for name, parameter in (('map', 'map.file'), ('mode', 'map.mode'), ('start', 'initial.mode')):
        if given(context, name):
            overrides[parameter] = typed(name, str)
    overrides |= inputs(context) | latched_pose(context)
    return [
        Node(
            package='lienav',
            executable='slam_node',
            name='slam_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[LaunchConfiguration('params_file'), overrides],
            remappings=[
                *(
                    (topic, LaunchConfiguration(topic))
                    for topic in ('odom', 'features', 'camera_info', 'imu', 'pose')
                ),
                *isolation(context),
            ],
            ros_arguments=[*log_level(context), *enclave(context)],
            output='screen',
        )
    ]


def inputs(context):
    """Return the parameters that say what the messages are; an argument left empty leaves its own."""
    found = {}
    for name, parameter in (
        ('features_message', 'features_message'),
        ('odom_message', 'odometry.message'),
    ):
        if given(context, name):
            found[parameter] = typed(name, str)
    patterns = given(context, 'tags').split()
    for pattern in patterns:
        if '{id' not in pattern and '=' not in pattern:
            raise RuntimeError(f"tags: '{pattern}' has no {{id}}, as tag36h11:{{id}} has, and no number, as dock=500")
    if patterns:
        found['tags.frame_patterns'] = patterns
    if given(context, 'tag_size_m'):
        found['tags.size_m'] = typed('tag_size_m', float)
    return found


def imu(context):
    """Return the parameter that says whether the gyroscope is used, or leave it to params_file."""
    use, topic = given(context, 'use_imu'), given(context, 'imu')
    if use == 'auto' and topic != 'imu':
        use = 'true'
    return {'use_imu': use == 'true'} if use in ('true', 'false') else {}


def latched_pose(context):
    """Return the parameter that keeps the last pose for who listens to AMCL, where its name is asked for."""
    pose, namespace = given(context, 'pose'), given(context, 'namespace').strip('/')
    if pose.rsplit('/', 1)[-1] != AMCL_POSE:
        return {}
    full = pose if pose.startswith('/') else f'/{namespace}/{pose}'.replace('//', '/')
    return {f'qos_overrides.{full}.publisher.durability': 'transient_local'}


def frames(context):
    """Return the names of the frames that were given, with the prefix if there is one."""
    prefix = given(context, 'frame_prefix')
    names = {name: given(context, name) for name in FRAMES if name != 'imu_frame'}
    if prefix:
        return {name: prefix + (names.get(name) or usual) for name, usual in FRAMES.items()}
    return {name: frame for name, frame in names.items() if frame}


def isolation(context):
    """Return the remappings that put what robots share into the namespace, where asked for."""
    is_isolated = given(context, 'isolated') == 'true'
    return [(f'/{topic}', topic) for topic in SHARED_TOPICS] if is_isolated else []


def number(context, name):
    """Refuse an argument that is neither empty nor a number, before anything starts."""
    text = given(context, name)
    try:
        float(text or '0')
    except ValueError:
        raise RuntimeError(f"{name}: '{text}' is not a number") from None


def log_level(context):
    """Return the arguments that set the level of the node's own lines; rcl's debug would drown them."""
    level = LaunchConfiguration('log_level').perform(context)
    of_rcl = ['--log-level', 'rcl:=info'] if level == 'debug' else []
    return ['--log-level', level, *of_rcl]


def enclave(context):
    """Return the arguments that name the enclave, if one was given."""
    name = given(context, 'enclave')
    return ['--enclave', name] if name else []


def rviz(context):
    """Return rviz2 on the topics of the node's namespace, or what to say where there is none."""
    if given(context, 'rviz') != 'true':
        return []
    if 'rviz2' not in get_packages_with_prefixes():
        return [
            LogInfo(
                msg=f"rviz2 is not installed (apt: ros-{os.environ.get('ROS_DISTRO', 'DISTRO')}-rviz2): "
                'going on without'
            )
        ]
    return [
        Node(
            package='rviz2',
            executable='rviz2',
            name='rviz2',
            namespace=LaunchConfiguration('namespace'),
            arguments=['-d', LaunchConfiguration('rviz_config')],
            parameters=[{'use_sim_time': typed('use_sim_time', bool)}],
            remappings=[
                ('/pose', LaunchConfiguration('pose')),
                *((f'/{topic}', topic) for topic in RVIZ_TOPICS if topic != 'pose'),
                *isolation(context),
            ],
            output='log',
        )
    ]


def given(context, name):
    """Return the text of a launch argument."""
    return LaunchConfiguration(name).perform(context)


def typed(name, kind):
    """Return a launch argument as a parameter of a fixed type: '1' for a number stays a number."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)
