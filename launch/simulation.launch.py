"""A simulated robot and slam_node on the same run; seeded, so that it can be had again."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, SetParameter
from launch_ros.parameter_descriptions import ParameterValue

SHARE = Path(get_package_share_directory('lienav'))

FILTERS = (
    'default invariant cartesian log-range inverse-range unsplit iterated anchored reduced '
    'ekf fe-ekf oc-ekf thesis-reduced thesis-ekf thesis-fe-ekf thesis-oc-ekf'
).split()

# What is in the namespace of an isolated simulation.
SHARED_TOPICS = ('tf', 'tf_static', 'clock')

# The heading a path starts with, where that is not 0: slam_node is told where it starts.
START_YAW_RAD = {'general': -0.2190703526952924}

ARGUMENTS = [
    DeclareLaunchArgument(
        'trajectory',
        default_value='circle',
        choices=['line', 'circle', 'general'],
        description='How the robot drives: 60 m straight on, a lap of 10 m radius, or a spline '
        'through points.',
    ),
    DeclareLaunchArgument(
        'filter',
        default_value='default',
        choices=FILTERS,
        description='Which filter runs.',
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
        'isolated',
        default_value='false',
        choices=['true', 'false'],
        description='Whether /tf, /tf_static and /clock are those of the namespace: for several '
        'simulations beside each other.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'simulation.yaml'),
        description='Parameters of slam_node; the default states the noise that the simulator '
        'makes.',
    ),
    DeclareLaunchArgument(
        'simulator_params_file',
        default_value=str(SHARE / 'config' / 'simulator.yaml'),
        description='Parameters of simulator_node: noise, cameras, density of features, rates.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='From which severity on the nodes log.',
    ),
]


def generate_launch_description():
    """Return the simulator, slam_node and, unless told otherwise, rviz2."""
    return LaunchDescription(
        [
            *ARGUMENTS,
            OpaqueFunction(function=check),
            OpaqueFunction(function=slam),
            OpaqueFunction(function=simulator),
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
    file = LaunchConfiguration('simulator_params_file').perform(context)
    if not Path(file).is_file():
        # launch only warns of it, and the simulation would run with the defaults.
        raise RuntimeError(f"simulator_params_file: there is no file '{file}'")


def slam(context):
    """Return slam_node at the start of the trajectory."""
    trajectory = LaunchConfiguration('trajectory').perform(context)
    passed_on = (
        'namespace',
        'params_file',
        'filter',
        'use_sim_time',
        'log_level',
        'rviz',
        'isolated',
    )
    return [
        GroupAction(
            [
                SetParameter('initial.yaw_rad', START_YAW_RAD.get(trajectory, 0.0)),
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'slam.launch.py')),
                    launch_arguments=[(name, LaunchConfiguration(name)) for name in passed_on],
                ),
            ]
        )
    ]


def log_level(context):
    """Return the arguments that set the level of the node's own lines; rcl's debug would drown them."""
    level = LaunchConfiguration('log_level').perform(context)
    of_rcl = ['--log-level', 'rcl:=info'] if level == 'debug' else []
    return ['--log-level', level, *of_rcl]


def simulator(context):
    """Return the simulator, which begins when slam_node listens."""
    is_isolated = LaunchConfiguration('isolated').perform(context) == 'true'
    node = Node(
        package='lienav',
        executable='simulator_node',
        name='simulator_node',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            LaunchConfiguration('simulator_params_file'),
            {
                'trajectory.path': ParameterValue(
                    LaunchConfiguration('trajectory'), value_type=str
                ),
                'name': LaunchConfiguration('trajectory'),
                'seed': ParameterValue(LaunchConfiguration('seed'), value_type=int),
                'rate': ParameterValue(LaunchConfiguration('rate'), value_type=float),
                'exit_at_end': ParameterValue(LaunchConfiguration('exit_at_end'), value_type=bool),
                'publish_clock': ParameterValue(
                    LaunchConfiguration('use_sim_time'), value_type=bool
                ),
                'wait_for_subscribers': 1,
            },
        ],
        remappings=[(f'/{topic}', topic) for topic in SHARED_TOPICS if is_isolated],
        ros_arguments=log_level(context),
        output='screen',
        on_exit=Shutdown(reason='the simulator has ended'),
    )
    return [node]
