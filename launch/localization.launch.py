"""Where a robot is in a map of landmarks that it has: slam_node as a localizer, in the place of AMCL.

    ros2 launch lienav localization.launch.py map:=hall.yaml odom:=/wheels/odometry features:=/tags

The map stays as it is, and the start is searched for. All arguments of slam.launch.py can be given, too.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

SHARE = Path(get_package_share_directory('lienav'))

ARGUMENTS = [
    DeclareLaunchArgument('map', description='File of the map; `lienav map --help` makes one.'),
    DeclareLaunchArgument(
        'mode',
        default_value='localization',
        choices=['localization', 'extend'],
        description='Whether the map stays as it is, or new landmarks are added.',
    ),
    DeclareLaunchArgument(
        'start',
        default_value='unknown',
        choices=['given', 'unknown'],
        description='Whether the robot starts where params_file says, or is searched for.',
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='true',
        choices=['true', 'false'],
        description='Whether the node configures and activates itself; false: a lifecycle manager '
        'such as that of Nav2 does.',
    ),
]


def generate_launch_description():
    """Return slam_node in a known map."""
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=check), OpaqueFunction(function=localizer)]
    )


def check(context):
    """Refuse a map that is not there before anything starts."""
    file = LaunchConfiguration('map').perform(context)
    if not Path(file).expanduser().is_file():
        raise RuntimeError(f"map: there is no file '{file}'")


def localizer(context):
    """Return slam.launch.py with the map; what else was given reaches it, too."""
    file = str(Path(LaunchConfiguration('map').perform(context)).expanduser().resolve())
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'slam.launch.py')),
            launch_arguments=[
                ('map', file),
                ('mode', LaunchConfiguration('mode')),
                ('start', LaunchConfiguration('start')),
                ('autostart', LaunchConfiguration('autostart')),
            ],
        )
    ]
