"""Where a robot is in a map of landmarks that it has: slam_node as a localizer, in the place of AMCL.

    ros2 launch lienav localization.launch.py map:=hall.yaml odom:=/wheels/odometry features:=/tags

The map stays as it is, and the start is searched for. All arguments of slam.launch.py can be given, too.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetLaunchConfiguration,
)
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


PASSED_ON = ('map', 'mode', 'start', 'autostart')


def generate_launch_description():
    """Return slam_node in a known map; the arguments of slam.launch.py are listed, too."""
    return LaunchDescription(
        [
            *ARGUMENTS,
            OpaqueFunction(function=whole_path),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'slam.launch.py')),
                launch_arguments=[(name, LaunchConfiguration(name)) for name in PASSED_ON],
            ),
        ]
    )


def whole_path(context):
    """Return the whole path of the map; one that is not there is refused before anything starts."""
    file = Path(LaunchConfiguration('map').perform(context)).expanduser()
    if not file.is_file():
        raise RuntimeError(f"map: there is no file '{file}'")
    return [SetLaunchConfiguration('map', str(file.resolve()))]
