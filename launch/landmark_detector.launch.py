"""Reflectors, poles, trunks and cones of a laser scanner as `features` of slam_node."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

TOPICS = ('scan', 'odom', 'features')

ARGUMENTS = [
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the node and of its topics.'
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value='',
        description='Parameters of landmark_detector_node; empty: the defaults.',
    ),
    DeclareLaunchArgument(
        'scan', default_value='scan', description='Topic of the scanner (sensor_msgs/LaserScan).'
    ),
    DeclareLaunchArgument(
        'odom', default_value='odom', description='Topic of the odometry (nav_msgs/Odometry).'
    ),
    DeclareLaunchArgument(
        'features', default_value='features', description='Topic of what is found.'
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
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on the node logs.',
    ),
]


def generate_launch_description():
    """Return landmark_detector_node."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=detector)])


def detector(context):
    """Return the node; a parameter file that is not there starts nothing."""
    file = LaunchConfiguration('params_file').perform(context)
    if file and not Path(file).is_file():
        raise RuntimeError(f"params_file: there is no file '{file}'")
    overrides = {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}
    if LaunchConfiguration('autostart').perform(context):
        overrides['autostart'] = ParameterValue(LaunchConfiguration('autostart'), value_type=bool)
    return [
        Node(
            package='lienav',
            executable='landmark_detector_node',
            name='landmark_detector_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[*([file] if file else []), overrides],
            remappings=[(topic, LaunchConfiguration(topic)) for topic in TOPICS],
            ros_arguments=['--log-level', LaunchConfiguration('log_level')],
            output='screen',
        )
    ]
