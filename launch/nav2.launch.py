"""Nav2 with slam_node in the place of AMCL: landmarks localize the robot, Nav2 plans and drives.

    ros2 launch lienav nav2.launch.py map:=hall.yaml grid:=hall_grid.yaml \\
        nav2_params:=nav2.yaml odom:=/wheels/odometry features:=/tags

slam_node publishes map -> odom and amcl_pose, and hears initialpose. A lifecycle manager brings it
up with map_server; navigation_launch.py of nav2_bringup does the rest. All arguments of
slam.launch.py can be given, too.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = Path(get_package_share_directory('lienav'))
NEEDED = ('nav2_bringup', 'nav2_lifecycle_manager')

ARGUMENTS = [
    DeclareLaunchArgument(
        'map', description='File of the landmarks, as localization.launch.py has it.'
    ),
    DeclareLaunchArgument(
        'grid',
        default_value='',
        description='Occupancy grid for planners (the YAML file of nav2_map_server), in the frame '
        'of the landmarks; empty: none, for costmaps without a static layer.',
    ),
    DeclareLaunchArgument(
        'nav2_params',
        default_value='',
        description='Parameters of Nav2; empty: those of nav2_bringup.',
    ),
    DeclareLaunchArgument(
        'pose',
        default_value='amcl_pose',
        description='Topic of the pose after each cloud: that of AMCL.',
    ),
    DeclareLaunchArgument(
        'nav2_autostart',
        default_value='true',
        choices=['true', 'false'],
        description='Whether the lifecycle managers bring all nodes up at once.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Whether time comes from /clock: true with a simulator or a bag.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of all nodes and of their topics.'
    ),
]


def generate_launch_description():
    """Return slam_node as the localizer, the grid, their manager, and Nav2."""
    localizer = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'localization.launch.py')),
        launch_arguments=[
            ('map', LaunchConfiguration('map')),
            ('pose', LaunchConfiguration('pose')),
            ('use_sim_time', LaunchConfiguration('use_sim_time')),
            ('namespace', LaunchConfiguration('namespace')),
            ('autostart', 'false'),
        ],
    )
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=check), localizer, OpaqueFunction(function=nav2)]
    )


def check(context):
    """Refuse files and packages that are not there before anything starts."""
    missing = [name for name in NEEDED if name not in get_packages_with_prefixes()]
    if missing:
        raise RuntimeError(
            f'{missing[0]} is not installed (apt: navigation2 and nav2-bringup of your ROS 2)'
        )
    for name in ('grid', 'nav2_params'):
        file = LaunchConfiguration(name).perform(context)
        if file and not Path(file).expanduser().is_file():
            raise RuntimeError(f"{name}: there is no file '{file}'")


def nav2(context):
    """Return the grid, the manager of both, and Nav2 without its localization."""
    grid = LaunchConfiguration('grid').perform(context)
    use_sim_time = ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)
    namespace = LaunchConfiguration('namespace')
    actions = []
    if grid:
        actions.append(
            Node(
                package='nav2_map_server',
                executable='map_server',
                name='map_server',
                namespace=namespace,
                parameters=[
                    {
                        'use_sim_time': use_sim_time,
                        'yaml_filename': str(Path(grid).expanduser().resolve()),
                    }
                ],
                output='screen',
            )
        )
    actions.append(
        Node(
            package='nav2_lifecycle_manager',
            executable='lifecycle_manager',
            name='lifecycle_manager_localization',
            namespace=namespace,
            parameters=[
                {
                    'use_sim_time': use_sim_time,
                    'autostart': ParameterValue(
                        LaunchConfiguration('nav2_autostart'), value_type=bool
                    ),
                    'node_names': [*(['map_server'] if grid else []), 'slam_node'],
                    # slam_node has no bond; the default would give it up after 4 s.
                    'bond_timeout': 0.0,
                }
            ],
            output='screen',
        )
    )
    bringup = Path(get_package_share_directory('nav2_bringup'))
    given = LaunchConfiguration('nav2_params').perform(context)
    file = Path(given).expanduser().resolve() if given else bringup / 'params' / 'nav2_params.yaml'
    actions.append(
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(bringup / 'launch' / 'navigation_launch.py')),
            launch_arguments=[
                ('namespace', namespace),
                ('use_sim_time', LaunchConfiguration('use_sim_time')),
                ('autostart', LaunchConfiguration('nav2_autostart')),
                ('params_file', str(file)),
            ],
        )
    )
    return actions
