"""Play a bag, run slam_node on it, and report how good the estimate was; ends when the bag does.

The bag is played by `ros2 bag play` where rosbag2 and the bag's storage plugin are installed, and
by `lienav play` otherwise. Only inputs and ground truth are played: a transform from map to odom
that somebody recorded would fight with that of slam_node.
"""

from pathlib import Path
from signal import SIGINT

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events import matches_action
from launch.events.process import SignalProcess
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import ExecutableInPackage

SHARE = Path(get_package_share_directory('lienav'))
LIENAV = ExecutableInPackage(executable='lienav', package='lienav')
# Played where the bag has them.
EXTRAS = ('/ground_truth/pose', '/ground_truth/path', '/ground_truth/landmarks', '/tf_static')

# Publishers and subscribers have this long to find each other before the first message, and the
# last message has this long to come out as a pose; wall time, s.
DISCOVERY_S = 2.0
DRAIN_S = 1.0

FILTERS = (
    'default invariant cartesian log-range inverse-range unsplit iterated anchored reduced '
    'ekf fe-ekf oc-ekf thesis-reduced thesis-ekf thesis-fe-ekf thesis-oc-ekf'
).split()

ARGUMENTS = [
    DeclareLaunchArgument('bag', description='The bag: its folder, or an .mcap or .db3 file.'),
    DeclareLaunchArgument(
        'filter',
        default_value='',
        choices=['', *FILTERS],
        description='Which filter runs; empty: as params_file says.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value='',
        description='Parameters of slam_node; empty: params.yaml beside the bag where there is '
        'one, else config/slam.yaml.',
    ),
    DeclareLaunchArgument(
        'rate', default_value='1.0', description='Speed of playing; 1.0 is real time.'
    ),
    DeclareLaunchArgument(
        'odom', default_value='/odom', description='Topic of the odometry in the bag.'
    ),
    DeclareLaunchArgument(
        'features', default_value='/features', description='Topic of the features in the bag.'
    ),
    DeclareLaunchArgument(
        'imu', default_value='/imu', description='Topic of the gyroscope in the bag.'
    ),
    DeclareLaunchArgument(
        'use_imu',
        default_value='params',
        choices=['true', 'false', 'params'],
        description='Whether the yaw rate comes from the gyroscope; params: as params_file says.',
    ),
    DeclareLaunchArgument(
        'player',
        default_value='auto',
        choices=['auto', 'ros2', 'lienav'],
        description='What plays the bag: `ros2 bag play`, `lienav play`, or auto: the first where '
        'it is installed.',
    ),
    DeclareLaunchArgument(
        'out',
        default_value='',
        description='Folder for trajectories, tables and plots of the evaluation; empty: none.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=['true', 'false'],
        description='Whether rviz2 is opened as well.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on slam_node logs.',
    ),
]


def generate_launch_description():
    """Return slam_node, the evaluator and the player, and what ends them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=play_and_evaluate)])


def play_and_evaluate(context):
    """Return what runs on the bag that was named; the evaluator ends after it, and all with it."""
    bag = Path(LaunchConfiguration('bag').perform(context)).expanduser()
    if not bag.exists():
        raise RuntimeError(f"bag: there is no folder or file '{bag}'")
    rate = LaunchConfiguration('rate').perform(context)
    try:
        is_usable = float(rate) > 0.0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise RuntimeError(f"rate: '{rate}' is not a number above 0")
    player = ExecuteProcess(cmd=player_command(context, bag), name='player', output='screen')
    out = LaunchConfiguration('out').perform(context)
    evaluator = ExecuteProcess(
        cmd=[LIENAV, 'evaluate', '--live', *(['--out', out] if out else [])],
        name='evaluator',
        output='screen',
    )
    end_of_evaluation = EmitEvent(
        event=SignalProcess(signal_number=SIGINT, process_matcher=matches_action(evaluator))
    )
    return [
        slam(context, bag),
        evaluator,
        player,
        RegisterEventHandler(
            OnProcessExit(
                target_action=player,
                on_exit=[TimerAction(period=DRAIN_S, actions=[end_of_evaluation])],
            )
        ),
        RegisterEventHandler(
            OnProcessExit(target_action=evaluator, on_exit=[Shutdown(reason='the bag has ended')])
        ),
    ]


def slam(context, bag):
    """Return slam_node on the time of the bag, with the parameters that belong to it."""
    params_file = LaunchConfiguration('params_file').perform(context)
    of_bag = (bag if bag.is_dir() else bag.parent) / 'params.yaml'
    if not params_file and of_bag.is_file():
        params_file = str(of_bag)
    passed_on = ('filter', 'odom', 'features', 'imu', 'use_imu', 'rviz', 'log_level')
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'slam.launch.py')),
        launch_arguments=[
            ('params_file', params_file or str(SHARE / 'config' / 'slam.yaml')),
            ('use_sim_time', 'true'),
            # However fast the bag is played, every cloud is to be used.
            ('max_latency_s', '60.0'),
            *((name, LaunchConfiguration(name)) for name in passed_on),
        ],
    )


def player_command(context, bag):
    """Return the command that plays the bag; both players take the same options."""
    player = LaunchConfiguration('player').perform(context)
    if player == 'auto':
        player = 'ros2' if rosbag2_reads(bag) else 'lienav'
    odom, features, imu = (
        LaunchConfiguration(name).perform(context) for name in ('odom', 'features', 'imu')
    )
    extras = [topic for topic in (imu, *EXTRAS, *own(bag)) if f'name: {topic}\n' in metadata(bag)]
    ros2 = ['ros2', 'bag', 'play', '--disable-keyboard-controls']
    return [
        *(ros2 if player == 'ros2' else [LIENAV, 'play']),
        str(bag),
        *('--clock', '100', '--rate', LaunchConfiguration('rate'), '--delay', str(DISCOVERY_S)),
        *('--topics', odom, features, *extras),
    ]


def own(bag):
    """Return the topics that only bags of `lienav convert` and `simulate` are played with."""
    # In a bag of a robot, /tf may hold the transform from map to odom, which slam_node gives here.
    return ('/tf',) if 'lienav.name' in metadata(bag) else ()


def rosbag2_reads(bag):
    """Return whether rosbag2 is installed here, with the plugin for the storage of this bag."""
    in_mcap = bag.suffix == '.mcap' or 'storage_identifier: mcap' in metadata(bag)
    plugin = 'rosbag2_storage_mcap' if in_mcap else 'rosbag2_storage_sqlite3'
    return {'ros2bag', plugin} <= set(get_packages_with_prefixes())


def metadata(bag):
    """Return the text of a bag's metadata.yaml, which names storage and topics; '' without one."""
    path = (bag if bag.is_dir() else bag.parent) / 'metadata.yaml'
    return path.read_text() if path.is_file() else ''
