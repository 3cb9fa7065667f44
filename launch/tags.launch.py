"""Tags in the images of cameras: one slam3d_node, and rviz2 where it is asked for.

This is the file to include from a robot's own launch file:

    IncludeLaunchDescription(
        PythonLaunchDescriptionSource([FindPackageShare('lienav'), '/launch/tags.launch.py']),
        launch_arguments={'cameras': '/front /back', 'map': my_tags}.items())
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = Path(get_package_share_directory('lienav'))

TOPICS = ('odom', 'absolute_pose')

ARGUMENTS = [
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the node and of its topics.'
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'tags.yaml'),
        description='Parameters of slam3d_node. What a file leaves out keeps its default.',
    ),
    DeclareLaunchArgument(
        'cameras',
        default_value='camera',
        description='Cameras by the names before their topics: each has detections '
        '(apriltag_msgs/AprilTagDetectionArray) and camera_info there. Several are separated by spaces.',
    ),
    DeclareLaunchArgument(
        'map',
        default_value='',
        description='File of the tags: tags.yaml, or the layout of a field as .json. If it is there, the robot is '
        'localized in it; if not, ~/save_map writes it. Empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'mode',
        default_value='',
        choices=['', 'mapping', 'localization'],
        description='mapping: tags that the map does not have are added. Empty: localization where the map is there.',
    ),
    DeclareLaunchArgument(
        'tag_size_m',
        default_value='',
        description='Edge of the black square of a tag, m; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'odom',
        default_value='odom',
        description='Topic of odometry (nav_msgs/Odometry), read where odom_frame is set.',
    ),
    DeclareLaunchArgument(
        'imu',
        default_value='',
        description='Topic of an inertial sensor (sensor_msgs/Imu), which is then used; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'absolute_pose',
        default_value='absolute_pose',
        description='Topic of poses from outside (geometry_msgs/PoseWithCovarianceStamped).',
    ),
    DeclareLaunchArgument(
        'odom_frame',
        default_value='',
        description='Frame of odom, which is then used; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'base_frame',
        default_value='',
        description='Frame of the robot; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'publish_tf',
        default_value='',
        choices=['', 'true', 'false'],
        description='Whether the transform from map_frame is published; empty: as params_file says.',
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
        'enclave',
        default_value='',
        description='SROS2 enclave to run in, such as /lienav/slam3d_node; empty: none. The security of '
        'ROS 2 is switched on by ROS_SECURITY_ENABLE and ROS_SECURITY_KEYSTORE.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on slam3d_node logs.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=['true', 'false'],
        description='Whether rviz2 is opened as well.',
    ),
    DeclareLaunchArgument(
        'rviz_config',
        default_value=str(SHARE / 'config' / 'tags.rviz'),
        description='What rviz2 shows.',
    ),
]


# Parameters that have other names than their arguments.
PARAMETERS = {'tag_size_m': 'tags.size_m'}


def generate_launch_description():
    """Return slam3d_node and, where asked for, rviz2."""
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=tags), OpaqueFunction(function=rviz)]
    )


def tags(context):
    """Return slam3d_node; an argument left empty leaves its parameter to params_file."""
    if not Path(given(context, 'params_file')).is_file():
        # launch only warns of it, and the robot would move with the defaults.
        raise RuntimeError(f"params_file: there is no file '{given(context, 'params_file')}'")
    overrides = {'use_sim_time': typed('use_sim_time', bool)}
    kinds = {
        'tag_size_m': float,
        'odom_frame': str,
        'base_frame': str,
        'publish_tf': bool,
        'autostart': bool,
    }
    for name, kind in kinds.items():
        if given(context, name):
            overrides[PARAMETERS.get(name, name)] = typed(name, kind)
    remappings = [(topic, LaunchConfiguration(topic)) for topic in TOPICS]
    if given(context, 'imu'):
        overrides['tags.use_imu'] = True
        remappings.append(('imu', LaunchConfiguration('imu')))
    cameras = [name.rstrip('/') for name in given(context, 'cameras').split()]
    if not cameras:
        raise RuntimeError('cameras: name one at least')
    overrides['tags.detections'] = [f'{name}/detections' for name in cameras]
    overrides['tags.camera_infos'] = [f'{name}/camera_info' for name in cameras]
    if given(context, 'map'):
        file = Path(given(context, 'map'))
        if not file.parent.is_dir():
            raise RuntimeError(f"map: there is no folder '{file.parent}'")
        overrides['map.file'] = typed('map', str)
        overrides['map.mode'] = 'localization' if file.is_file() else 'mapping'
    if given(context, 'mode'):
        overrides['map.mode'] = typed('mode', str)
    return [
        Node(
            package='lienav',
            executable='slam3d_node',
            name='slam3d_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[LaunchConfiguration('params_file'), overrides],
            remappings=remappings,
            ros_arguments=[*log_level(context), *enclave(context)],
            output='screen',
        )
    ]


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
    """Return rviz2, or a sentence where it is not installed."""
    if given(context, 'rviz') != 'true':
        return []
    if 'rviz2' not in get_packages_with_prefixes():
        return [
            LogInfo(msg='rviz2 is not installed (apt: ros-$ROS_DISTRO-rviz2): going on without')
        ]
    return [
        Node(
            package='rviz2',
            executable='rviz2',
            name='rviz2',
            namespace=LaunchConfiguration('namespace'),
            arguments=['-d', LaunchConfiguration('rviz_config')],
            parameters=[{'use_sim_time': typed('use_sim_time', bool)}],
            output='log',
        )
    ]


def given(context, name):
    """Return the text of a launch argument."""
    return LaunchConfiguration(name).perform(context)


def typed(name, kind):
    """Return a launch argument as a parameter of a fixed type: '1' for a number stays a number."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)
