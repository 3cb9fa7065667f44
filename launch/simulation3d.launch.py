"""A simulated body in space and slam3d_node on the same run; seeded, so that it can be had again."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = Path(get_package_share_directory('lienav'))

# What the simulator makes: samples are values, pairs are this far apart, and so good are the grades.
SIMULATED = {'imu.interpolation': 'cubic', 'sensor.baseline_m': 0.12}
GRADES = {
    'consumer': (2.8e-4, 1.2e-2, 1e-4, 2e-3),
    'industrial': (1.7e-4, 2.0e-3, 1.9e-5, 3e-3),
    'tactical': (2.6e-5, 1.3e-4, 3.9e-7, 3.1e-6),
}
NOISE = ('imu.gyro_noise', 'imu.accelerometer_noise', 'imu.gyro_walk', 'imu.accelerometer_walk')

ARGUMENTS = [
    DeclareLaunchArgument(
        'motion',
        default_value='drone',
        choices=['rest', 'circle', 'helix', 'drone', 'hand', 'car'],
        description='How the body moves, after two seconds in which it stands.',
    ),
    DeclareLaunchArgument(
        'camera',
        default_value='stereo',
        choices=['mono', 'stereo', 'several'],
        description='What sees the landmarks.',
    ),
    DeclareLaunchArgument(
        'imu_grade',
        default_value='industrial',
        choices=[*GRADES],
        description='How good the inertial sensor is.',
    ),
    DeclareLaunchArgument(
        'seed', default_value='1', description='Seed of the world and of all noise.'
    ),
    DeclareLaunchArgument(
        'rate', default_value='1.0', description='Speed of the simulation; 1.0 is real time.'
    ),
    DeclareLaunchArgument(
        'exit_at_end',
        default_value='false',
        choices=['true', 'false'],
        description='Whether everything ends with the run.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='true',
        choices=['true', 'false'],
        description='Whether the simulator gives the time on /clock and the others follow it.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='true',
        choices=['true', 'false'],
        description='Whether rviz2 is opened as well.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the nodes and of their topics.'
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'slam3d.yaml'),
        description='Parameters of slam3d_node beside the noise of the simulation.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on the nodes log.',
    ),
]


def generate_launch_description():
    """Return the simulator, slam3d_node and, unless the user says otherwise, rviz2."""
    return LaunchDescription(
        [
            *ARGUMENTS,
            OpaqueFunction(function=check),
            OpaqueFunction(function=slam3d),
            OpaqueFunction(function=simulator),
            OpaqueFunction(function=rviz),
        ]
    )


def check(context):
    """Refuse arguments that cannot be used, by name, before anything starts."""
    for name, kind, words in (('seed', int, 'a whole number'), ('rate', float, 'a number')):
        text = LaunchConfiguration(name).perform(context)
        try:
            value = kind(text)
        except ValueError:
            raise RuntimeError(f"{name}: '{text}' is not {words}") from None
        if not (value >= 0 if kind is int else 0.01 <= value <= 1000.0):
            limits = 'be 0 or more' if kind is int else 'lie between 0.01 and 1000'
            raise RuntimeError(f'{name}: {text} has to {limits}')
    file = LaunchConfiguration('params_file').perform(context)
    if not Path(file).is_file():
        # launch only warns of it, and the node would run with the defaults.
        raise RuntimeError(f"params_file: there is no file '{file}'")


def slam3d(context):
    """Return slam3d_node with the noise of the simulation."""
    noise = GRADES[LaunchConfiguration('imu_grade').perform(context)]
    overrides = {**SIMULATED, **dict(zip(NOISE, noise))}
    overrides['use_sim_time'] = ParameterValue(
        LaunchConfiguration('use_sim_time'), value_type=bool
    )
    return [
        Node(
            package='lienav',
            executable='slam3d_node',
            name='slam3d_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[LaunchConfiguration('params_file'), overrides],
            ros_arguments=log_level(context),
            output='screen',
        )
    ]


def log_level(context):
    """Return the arguments that set the level of the node's own lines; rcl's debug would drown them."""
    level = LaunchConfiguration('log_level').perform(context)
    of_rcl = ['--log-level', 'rcl:=info'] if level == 'debug' else []
    return ['--log-level', level, *of_rcl]


def simulator(context):
    """Return the simulator, which begins when slam3d_node listens."""
    words = [LaunchConfiguration(name).perform(context) for name in ('motion', 'camera', 'imu_grade')]
    seed = LaunchConfiguration('seed').perform(context)
    node = Node(
        package='lienav',
        executable='simulator_node',
        name='simulator_node',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            {
                'scenario': f"space:{'-'.join(words)}-standing:{seed}",
                'rate': ParameterValue(LaunchConfiguration('rate'), value_type=float),
                'exit_at_end': ParameterValue(LaunchConfiguration('exit_at_end'), value_type=bool),
                'publish_clock': ParameterValue(
                    LaunchConfiguration('use_sim_time'), value_type=bool
                ),
                'wait_for_subscribers': 1,
            },
        ],
        ros_arguments=log_level(context),
        output='screen',
        on_exit=Shutdown(reason='the simulator has ended'),
    )
    return [node]


def rviz(context):
    """Return rviz2, or a sentence where it is not installed."""
    if LaunchConfiguration('rviz').perform(context) != 'true':
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
            arguments=['-d', str(SHARE / 'config' / 'slam3d.rviz')],
            parameters=[
                {
                    'use_sim_time': ParameterValue(
                        LaunchConfiguration('use_sim_time'), value_type=bool
                    )
                }
            ],
            output='log',
        )
    ]
