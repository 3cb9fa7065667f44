#!/usr/bin/env python3
"""Checks launch/*.launch.py.

The text always; what they start, with stand-ins for the executables, where the Python packages
launch and launch_ros are installed. Run by tests/launch.rs, or by hand.
"""

import ast
import importlib.util
import json
import os
import re
import shlex
import stat
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
NEEDED_ARGUMENTS = {
    ('bag.launch.py', 'bag'),
    ('localization.launch.py', 'map'),
    ('nav2.launch.py', 'map'),
}
NEEDED = ('launch', 'launch_ros', 'ament_index_python', 'yaml')
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

# Stands in for every executable: notes its arguments and ends. The evaluator waits for the signal
# that ends it, and the simulator, whose end ends all, for the others. What launch wrote for a run
# is gone when the run is over, so its text is kept.
STAND_IN = """#!{python}
import glob, json, os, signal, sys, time
name = os.path.basename(sys.argv[0])
if name == 'lienav':
    name = sys.argv[1]
ended_by = None
if name == 'evaluate':
    ending = {{signal.SIGINT, signal.SIGTERM}}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    ended_by = signal.sigwait(ending).name
if name == 'simulator_node':
    nodes = [os.path.basename(path) for path in glob.glob({prefix!r} + '/lib/*/*')]
    logs = [os.path.join({log!r}, n + '.json') for n in nodes if n in ('slam_node', 'rviz2')]
    until = time.monotonic() + 10
    while time.monotonic() < until and not all(map(os.path.exists, logs)):
        time.sleep(0.02)
pairs = zip(sys.argv, sys.argv[1:])
files = [open(path).read() for flag, path in pairs if flag == '--params-file']
log = os.path.join({log!r}, name + '.json')
with open(log + '.part', 'w') as out:
    json.dump(dict(argv=sys.argv[1:], files=files, ended_by=ended_by), out)
os.rename(log + '.part', log)
"""


NAVIGATION = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node

NAMES = ('namespace', 'use_sim_time', 'autostart', 'params_file')


def generate_launch_description():
    arguments = [DeclareLaunchArgument(name) for name in NAMES]
    return LaunchDescription([*arguments, Node(package='nav2_bringup', executable='navigation')])
"""


def documented():
    """Yield page, launch file and arguments of every `ros2 launch lienav …` in code of the documents."""
    for page in sorted((ROOT / 'docs').rglob('*.md')) + [ROOT / 'README.md']:
        text = page.read_text().replace('\\\n', ' ')
        for line in re.findall(r'^    .*?(ros2 launch lienav .*)$', text, re.MULTILINE):
            words = shlex.split(line, comments=True)[3:]
            yield page.name, words[0], dict(word.split(':=', 1) for word in words[1:])


def declared_arguments(tree):
    """Return the nodes that hold the names of the launch arguments a file declares."""
    return [
        call.args[0]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, 'id', '') == 'DeclareLaunchArgument'
    ]


class Text(unittest.TestCase):
    """What can be said without ROS."""

    def test_there_are_launch_files(self):
        self.assertEqual(
            [f.name for f in FILES],
            [
                'attitude.launch.py',
                'bag.launch.py',
                'landmark_detector.launch.py',
                'localization.launch.py',
                'nav2.launch.py',
                'simulation.launch.py',
                'simulation3d.launch.py',
                'slam.launch.py',
                'slam3d.launch.py',
                'tags.launch.py',
            ],
        )

    def test_each_is_python(self):
        for path in FILES:
            with self.subTest(path.name):
                compile(path.read_text(), str(path), 'exec')

    def test_each_declared_argument_is_used(self):
        for path in FILES:
            tree = ast.parse(path.read_text())
            declared = declared_arguments(tree)
            others = {
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and all(node is not name for name in declared)
            }
            for name in declared:
                with self.subTest(file=path.name, argument=name.value):
                    self.assertIn(name.value, others)

    def test_each_argument_that_is_used_is_declared(self):
        for path in FILES:
            tree = ast.parse(path.read_text())
            declared = {name.value for name in declared_arguments(tree)}
            for call in ast.walk(tree):
                if (
                    isinstance(call, ast.Call)
                    and getattr(call.func, 'id', '') == 'LaunchConfiguration'
                ):
                    if isinstance(call.args[0], ast.Constant):
                        with self.subTest(file=path.name, argument=call.args[0].value):
                            self.assertIn(call.args[0].value, declared)


class Started(unittest.TestCase):
    """What the launch files start, seen by stand-ins for the executables."""

    @classmethod
    def setUpClass(cls):
        if MISSING:
            raise unittest.SkipTest(f'not installed in this Python: {", ".join(MISSING)}')
        # launch opens its log once for a process.
        logs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(logs.cleanup)
        os.environ['ROS_LOG_DIR'] = logs.name

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / 'log'
        self.log.mkdir()
        self.prefix = self.folder / 'prefix'
        self.saved = dict(os.environ)
        self.addCleanup(self.restore_environment)
        os.environ['AMENT_PREFIX_PATH'] = str(self.prefix)
        os.environ['PATH'] = f'{self.prefix}/bin:{os.environ["PATH"]}'
        self.install(
            'lienav',
            'lib/lienav/slam_node',
            'lib/lienav/slam3d_node',
            'lib/lienav/attitude_node',
            'lib/lienav/landmark_detector_node',
            'lib/lienav/simulator_node',
            'lib/lienav/lienav',
        )
        share = self.prefix / 'share' / 'lienav'
        share.mkdir(parents=True)
        for name in ('launch', 'config'):
            (share / name).symlink_to(ROOT / name)

    def restore_environment(self):
        os.environ.clear()
        os.environ.update(self.saved)

    def install(self, package, *executables):
        index = self.prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        for executable in executables:
            path = self.prefix / executable
            path.parent.mkdir(parents=True, exist_ok=True)
            text = STAND_IN.format(
                python=sys.executable, log=str(self.log), prefix=str(self.prefix)
            )
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def install_nav2(self):
        self.install('nav2_map_server', 'lib/nav2_map_server/map_server')
        self.install('nav2_lifecycle_manager', 'lib/nav2_lifecycle_manager/lifecycle_manager')
        # What nav2_bringup has in the place of this starts the rest of Nav2.
        self.install('nav2_bringup', 'lib/nav2_bringup/navigation')
        share = self.prefix / 'share' / 'nav2_bringup' / 'launch'
        share.mkdir(parents=True)
        (share / 'navigation_launch.py').write_text(NAVIGATION)

    def launch(self, file, ends_with=0, **arguments):
        """Run a launch file to its end; return what each executable was called with."""
        from launch import LaunchDescription, LaunchService
        from launch.actions import IncludeLaunchDescription
        from launch.launch_description_sources import PythonLaunchDescriptionSource

        # What ran before is no answer to what runs now.
        for log in self.log.iterdir():
            log.unlink()
        service = LaunchService(noninteractive=True)
        service.include_launch_description(
            LaunchDescription(
                [
                    IncludeLaunchDescription(
                        PythonLaunchDescriptionSource(str(ROOT / 'launch' / f'{file}.launch.py')),
                        launch_arguments=list(arguments.items()),
                    )
                ]
            )
        )
        self.assertEqual(service.run(), ends_with)
        return {path.stem: json.loads(path.read_text()) for path in self.log.glob('*.json')}

    def parameters(self, call):
        """Return the parameters a node would start with: later files win."""
        import yaml

        merged = {}
        for text in call['files']:
            for node in (yaml.safe_load(text) or {}).values():
                merged.update(flattened(node['ros__parameters']))
        return merged

    def test_arguments_are_described_and_have_defaults(self):
        from launch.launch_description_sources import (
            get_launch_description_from_python_launch_file,
        )

        for path in FILES:
            arguments = get_launch_description_from_python_launch_file(
                str(path)
            ).get_launch_arguments()
            for argument in arguments:
                with self.subTest(file=path.name, argument=argument.name):
                    said = argument.description.split(' Valid choices are')[0]
                    self.assertTrue(said.endswith('.'), said)
                    if (path.name, argument.name) not in NEEDED_ARGUMENTS:
                        self.assertIsNotNone(argument.default_value)

    def test_slam_starts_as_configured(self):
        calls = self.launch('slam')
        self.assertEqual(set(calls), {'slam_node'})
        argv = calls['slam_node']['argv']
        self.assertIn('odom:=odom', argv)
        self.assertNotIn('--enclave', argv)
        self.assertIn('__node:=slam_node', argv)
        parameters = self.parameters(calls['slam_node'])
        self.assertEqual(parameters['use_sim_time'], False)
        self.assertEqual(parameters['filter'], 'default')

    def test_slam_passes_on_what_it_is_given(self):
        calls = self.launch(
            'slam',
            namespace='robot_1',
            odom='/wheels/odometry',
            features='tubes',
            imu='imu/data',
            filter='fe-ekf',
            publish_tf='false',
            use_sim_time='true',
            log_level='debug',
            enclave='/lienav/slam_node',
            max_latency_s='2.0',
        )
        argv = calls['slam_node']['argv']
        for expected in (
            '__ns:=/robot_1',
            'odom:=/wheels/odometry',
            'features:=tubes',
            '--enclave',
            '/lienav/slam_node',
            'imu:=imu/data',
            'debug',
        ):
            self.assertIn(expected, argv)
        parameters = self.parameters(calls['slam_node'])
        self.assertEqual(parameters['filter'], 'fe-ekf')
        self.assertIs(parameters['publish_tf'], False)
        self.assertIs(parameters['use_sim_time'], True)
        self.assertEqual(parameters['max_latency_s'], 2.0)

    def test_slam_leaves_to_the_file_what_it_is_not_given(self):
        params = self.folder / 'mine.yaml'
        params.write_text('slam_node:\n  ros__parameters: {filter: ekf, publish_tf: false}\n')
        parameters = self.parameters(self.launch('slam', params_file=str(params))['slam_node'])
        self.assertEqual(parameters['filter'], 'ekf')
        self.assertIs(parameters['publish_tf'], False)

    def test_attitude_starts_as_configured(self):
        calls = self.launch('attitude', imu='/imu/data_raw', attitude='imu/data', method='cayley')
        self.assertEqual(set(calls), {'attitude_node'})
        argv = calls['attitude_node']['argv']
        for expected in ('imu:=/imu/data_raw', 'attitude:=imu/data', '__node:=attitude_node'):
            self.assertIn(expected, argv)
        parameters = self.parameters(calls['attitude_node'])
        self.assertEqual(parameters['method'], 'cayley')
        self.assertEqual(parameters['mode'], 'imu')
        self.assertIs(parameters['publish_tf'], False)

    def test_slam3d_starts_as_configured(self):
        calls = self.launch('slam3d', imu='/imu/data_raw', filter='ekf', odom_frame='odom')
        self.assertEqual(set(calls), {'slam3d_node'})
        argv = calls['slam3d_node']['argv']
        for expected in ('imu:=/imu/data_raw', '__node:=slam3d_node'):
            self.assertIn(expected, argv)
        parameters = self.parameters(calls['slam3d_node'])
        self.assertEqual(parameters['filter'], 'ekf')
        self.assertEqual(parameters['odom_frame'], 'odom')
        self.assertEqual(parameters['map.mode'], 'mapping')
        file = self.folder / 'hall.json'
        file.write_text('{}')
        parameters = self.parameters(self.launch('slam3d', map=str(file))['slam3d_node'])
        self.assertEqual(parameters['map.mode'], 'localization')
        self.assertEqual(parameters['map.file'], str(file))
        self.assertEqual(self.launch('slam3d', ends_with=1, map='/no/such.json'), {})

    def test_tags_of_several_cameras_are_taken_and_a_map_is_used_where_it_is_there(self):
        calls = self.launch('tags', cameras='/front back/', odom_frame='odom', tag_size_m='0.2')
        self.assertEqual(set(calls), {'slam3d_node'})
        parameters = self.parameters(calls['slam3d_node'])
        self.assertEqual(parameters['tags.detections'], ['/front/detections', 'back/detections'])
        self.assertEqual(parameters['tags.camera_infos'], ['/front/camera_info', 'back/camera_info'])
        self.assertEqual(parameters['tags.size_m'], 0.2)
        self.assertEqual(parameters['odom_frame'], 'odom')
        self.assertEqual(parameters['map.mode'], 'mapping')
        file = self.folder / 'tags.yaml'
        self.assertEqual(self.parameters(self.launch('tags', map=str(file))['slam3d_node'])['map.mode'], 'mapping')
        file.write_text('known_tags: {}')
        parameters = self.parameters(self.launch('tags', map=str(file))['slam3d_node'])
        self.assertEqual((parameters['map.file'], parameters['map.mode']), (str(file), 'localization'))
        parameters = self.parameters(self.launch('tags', map=str(file), mode='mapping')['slam3d_node'])
        self.assertEqual(parameters['map.mode'], 'mapping')
        self.assertEqual(self.launch('tags', ends_with=1, map='/no/such/tags.yaml'), {})
        self.assertEqual(self.launch('tags', ends_with=1, cameras=' '), {})

    def test_a_simulation_in_space_states_the_noise_it_makes(self):
        calls = self.launch('simulation3d', motion='car', camera='mono', imu_grade='consumer', seed='7')
        self.assertEqual(set(calls), {'slam3d_node', 'simulator_node'})
        simulator = self.parameters(calls['simulator_node'])
        self.assertEqual(simulator['scenario'], 'space:car-mono-consumer-standing:7')
        node = self.parameters(calls['slam3d_node'])
        self.assertEqual(node['imu.gyro_noise'], 2.8e-4)
        self.assertEqual(node['imu.interpolation'], 'cubic')
        self.assertIs(node['use_sim_time'], True)
        self.install('rviz2', 'lib/rviz2/rviz2')
        self.assertIn('rviz2', self.launch('simulation3d'))
        self.assertEqual(self.launch('simulation3d', ends_with=1, seed='abc'), {})

    def test_attitude_is_seen_by_its_transform(self):
        self.install('rviz2', 'lib/rviz2/rviz2')
        calls = self.launch('attitude', rviz='true', namespace='robot_1')
        self.assertIs(self.parameters(calls['attitude_node'])['publish_tf'], True)
        self.assertIn('__ns:=/robot_1', calls['rviz2']['argv'])

    def test_files_that_are_not_there_start_nothing(self):
        self.assertEqual(self.launch('attitude', ends_with=1, params_file='/no/such.yaml'), {})
        self.assertEqual(self.launch('slam', ends_with=1, params_file='/no/such.yaml'), {})
        self.assertEqual(self.launch('bag', ends_with=1, bag='/no/such/bag'), {})
        self.assertEqual(self.launch('localization', ends_with=1, map='/no/such.yaml'), {})

    def test_the_detector_hears_the_scanner_that_is_named(self):
        call = self.launch('landmark_detector', scan='/laser/scan')['landmark_detector_node']
        self.assertIn('scan:=/laser/scan', call['argv'])

    def test_a_robot_is_localized_in_its_map(self):
        file = self.folder / 'hall.yaml'
        file.write_text('lienav_map: 1')
        call = self.launch('localization', map=str(file), odom='/wheels/odometry')['slam_node']
        parameters = self.parameters(call)
        self.assertEqual(parameters['map.file'], str(file.resolve()))
        self.assertEqual(parameters['map.mode'], 'localization')
        self.assertEqual(parameters['initial.mode'], 'unknown')
        self.assertIn('odom:=/wheels/odometry', call['argv'])
        self.assertIs(parameters['autostart'], True)

    def test_a_localizer_lists_what_it_passes_on(self):
        from launch.launch_description_sources import (
            get_launch_description_from_python_launch_file,
        )

        for name in ('localization', 'nav2'):
            description = get_launch_description_from_python_launch_file(
                str(ROOT / 'launch' / f'{name}.launch.py')
            )
            listed = {argument.name for argument in description.get_launch_arguments()}
            self.assertLessEqual({'map', 'odom', 'features', 'tags', 'base_frame'}, listed, name)

    def test_frames_and_the_topic_of_the_pose_can_be_given(self):
        frames = {'odom_frame': 'odom_combined', 'base_frame': 'base_footprint'}
        call = self.launch('slam', pose='amcl_pose', namespace='robot_1', **frames)['slam_node']
        self.assertIn('pose:=amcl_pose', call['argv'])
        parameters = self.parameters(call)
        self.assertEqual({name: parameters[name] for name in frames}, frames)
        durability = 'qos_overrides./robot_1/amcl_pose.publisher.durability'
        self.assertEqual(parameters[durability], 'transient_local')

    def test_nav2_starts_with_slam_node_for_amcl(self):
        hall, grid = self.folder / 'hall.yaml', self.folder / 'grid.yaml'
        hall.write_text('lienav_map: 1\nlandmarks: []\n')
        grid.write_text('image: grid.pgm\n')
        self.assertEqual(self.launch('nav2', ends_with=1, map=str(hall)), {})
        self.install_nav2()
        calls = self.launch('nav2', map=str(hall), grid=str(grid), odom='/wheels/odometry')
        self.assertEqual(
            set(calls), {'slam_node', 'map_server', 'lifecycle_manager', 'navigation'}
        )
        self.assertIn('odom:=/wheels/odometry', calls['slam_node']['argv'])
        self.assertIn('pose:=amcl_pose', calls['slam_node']['argv'])
        parameters = self.parameters(calls['slam_node'])
        self.assertIs(parameters['autostart'], False)
        self.assertEqual(parameters['map.mode'], 'localization')
        manager = ''.join(calls['lifecycle_manager']['files'])
        self.assertRegex(manager, r'node_names:.*\n +- map_server\n +- slam_node\n')
        self.assertIn('autostart: true', manager)
        self.assertIn('bond_timeout: 0.0', manager)
        self.assertEqual(self.parameters(calls['map_server'])['yaml_filename'], str(grid))

    def test_managed_nodes_wait_for_their_manager_where_they_are_told_to(self):
        file = self.folder / 'hall.yaml'
        file.write_text('lienav_map: 1')
        for name, node, arguments in (
            ('slam', 'slam_node', {}),
            ('localization', 'slam_node', {'map': str(file)}),
            ('attitude', 'attitude_node', {}),
            ('slam3d', 'slam3d_node', {}),
            ('tags', 'slam3d_node', {}),
            ('landmark_detector', 'landmark_detector_node', {}),
        ):
            with self.subTest(name):
                call = self.launch(name, autostart='false', **arguments)[node]
                self.assertIs(self.parameters(call)['autostart'], False)
        self.assertNotIn('autostart', self.parameters(self.launch('slam')['slam_node']))

    def test_arguments_that_are_no_numbers_start_nothing(self):
        for file, wrong in (
            ('simulation', {'seed': 'abc'}),
            ('simulation', {'seed': '-1'}),
            ('simulation', {'rate': 'abc'}),
            ('simulation', {'rate': '0'}),
            ('simulation', {'simulator_params_file': '/no/such.yaml'}),
            ('slam', {'max_latency_s': 'soon'}),
            ('bag', {'bag': str(self.folder), 'rate': 'fast'}),
        ):
            with self.subTest(file, **wrong):
                self.assertEqual(self.launch(file, ends_with=1, **wrong), {})

    def test_a_gyroscope_that_is_named_is_used(self):
        use = lambda **a: self.parameters(self.launch('slam', **a)['slam_node']).get('use_imu')
        self.assertIs(use(imu='/imu/data'), True)
        self.assertIs(use(imu='/imu/data', use_imu='params'), use())
        self.assertIs(use(imu='/imu/data', use_imu='false'), False)
        self.assertIs(use(use_imu='true'), True)

    def test_robots_beside_each_other_share_neither_transforms_nor_time(self):
        calls = self.launch('simulation', namespace='robot_1', isolated='true')
        for name in ('slam_node', 'simulator_node'):
            for remapping in ('/tf:=tf', '/tf_static:=tf_static', '/clock:=clock'):
                self.assertIn(remapping, calls[name]['argv'])
        calls = self.launch('simulation', namespace='robot_1')
        self.assertNotIn('/tf:=tf', calls['slam_node']['argv'])
        slam = self.launch('slam', frame_prefix='robot_1/')['slam_node']
        self.assertEqual(self.parameters(slam)['base_frame'], 'robot_1/base_link')

    def test_rviz_shows_the_namespace_of_the_node(self):
        self.install('rviz2', 'lib/rviz2/rviz2')
        calls = self.launch('slam', rviz='true', namespace='robot_1')
        argv = calls['rviz2']['argv']
        self.assertIn('__ns:=/robot_1', argv)
        shown = topics_of_rviz(ROOT / 'config' / 'lienav.rviz') - {'/tf', '/tf_static'}
        remapped = {word.split(':=')[0] for word in argv if word.startswith('/') and ':=' in word}
        self.assertEqual(shown, remapped - {'/tf', '/tf_static', '/clock'})

    def test_simulation_starts_both_on_one_clock(self):
        calls = self.launch(
            'simulation', rviz='false', trajectory='line', seed='7', rate='2', filter='ekf'
        )
        self.assertEqual(set(calls), {'slam_node', 'simulator_node'})
        simulator = self.parameters(calls['simulator_node'])
        self.assertEqual(simulator['trajectory.path'], 'line')
        self.assertEqual(simulator['seed'], 7)
        self.assertIsInstance(simulator['rate'], float)
        slam = self.parameters(calls['slam_node'])
        self.assertEqual(slam['filter'], 'ekf')
        self.assertIs(slam['use_sim_time'], True)
        self.assertEqual(slam['sensor.kind'], 'stereo_bearings')

    def test_simulation_tells_slam_where_it_starts(self):
        slam = self.launch('simulation', trajectory='general')['slam_node']['argv']
        self.assertTrue(any(word.startswith('initial.yaw_rad:=-0.2') for word in slam), slam)

    def test_simulation_goes_on_without_rviz(self):
        self.assertEqual(set(self.launch('simulation')), {'slam_node', 'simulator_node'})

    def test_simulation_opens_rviz(self):
        self.install('rviz2', 'lib/rviz2/rviz2')
        self.assertIn('rviz2', self.launch('simulation'))

    def test_every_call_in_a_document_starts_what_it_says(self):
        nodes = {
            'attitude.launch.py': 'attitude_node',
            'landmark_detector.launch.py': 'landmark_detector_node',
            'simulation3d.launch.py': 'slam3d_node',
            'slam3d.launch.py': 'slam3d_node',
            'tags.launch.py': 'slam3d_node',
        }
        self.install('rviz2', 'lib/rviz2/rviz2')
        self.install_nav2()
        self.bag('mcap', 'a_bag')
        (self.folder / 'a_file.yaml').write_text('lienav_map: 1')
        (self.folder / 'params.yaml').write_text('/**:\n  ros__parameters: {}\n')
        stand_ins = {
            'params_file': 'params.yaml',
            'map': 'a_file.yaml',
            'grid': 'a_file.yaml',
            'nav2_params': 'params.yaml',
            'bag': 'a_bag',
            'out': 'out',
        }
        found = list(documented())
        self.assertGreater(len(found), 20)
        for page, file, arguments in found:
            with self.subTest(page, file=file, **arguments):
                for log in self.log.iterdir():
                    log.unlink()
                given = {
                    name: str(self.folder / stand_ins[name]) if name in stand_ins else value
                    for name, value in arguments.items()
                }
                calls = self.launch(file.removesuffix('.launch.py'), **given)
                call = calls[nodes.get(file, 'slam_node')]
                for topic in {'odom', 'features', 'imu', 'scan', 'attitude'} & set(arguments):
                    self.assertIn(f'{topic}:={arguments[topic]}', call['argv'])
                seen = arguments.get('rviz', str(file.startswith('simulation')).lower())
                self.assertEqual('rviz2' in calls, seen == 'true')

    def bag(self, storage, name='bag'):
        bag = self.folder / name
        bag.mkdir()
        (bag / 'metadata.yaml').write_text(
            f'rosbag2_bagfile_information:\n  storage_identifier: {storage}\n'
            '  topics_with_message_count:\n'
            '    - topic_metadata:\n        name: /ground_truth/pose\n'
        )
        (bag / 'params.yaml').write_text('/**:\n  ros__parameters: {sensor.range_std_m: 0.123}\n')
        return bag

    def test_a_bag_is_played_and_evaluated_to_its_end(self):
        bag = self.bag('mcap')
        calls = self.launch(
            'bag', bag=str(bag), player='lienav', rate='20', out=str(self.folder / 'out')
        )
        self.assertEqual(set(calls), {'slam_node', 'play', 'evaluate'})
        self.assertIn(str(bag), calls['play']['argv'])
        self.assertIn('20', calls['play']['argv'])
        self.assertEqual(
            calls['play']['argv'][-4:], ['--topics', '/odom', '/features', '/ground_truth/pose']
        )
        self.assertEqual(calls['evaluate']['ended_by'], 'SIGINT')
        self.assertEqual(calls['evaluate']['argv'][-2:], ['--out', str(self.folder / 'out')])
        slam = self.parameters(calls['slam_node'])
        self.assertEqual(slam['sensor.range_std_m'], 0.123)
        self.assertIs(slam['use_sim_time'], True)

    def test_rosbag2_plays_where_it_reads_the_storage(self):
        self.install('ros2bag', 'bin/ros2')
        self.install('rosbag2_storage_mcap')
        calls = self.launch('bag', bag=str(self.bag('mcap')))
        self.assertIn('ros2', calls)
        self.assertNotIn('play', calls)

    def test_rosbag2_does_not_play_a_storage_it_lacks(self):
        self.install('ros2bag', 'bin/ros2')
        self.install('rosbag2_storage_sqlite3')
        calls = self.launch('bag', bag=str(self.bag('mcap')))
        self.assertIn('play', calls)


def flattened(tree, prefix=''):
    """Return nested parameters by dotted name."""
    flat = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(flattened(value, f'{prefix}{key}.'))
        else:
            flat[prefix + key] = value
    return flat


def topics_of_rviz(path):
    """Return every topic an rviz configuration names."""
    import yaml

    found = set()

    def walk(node):
        if isinstance(node, dict):
            topic = node.get('Topic')
            if isinstance(topic, dict):
                found.add(topic['Value'])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(yaml.safe_load(path.read_text())['Visualization Manager'])
    return found


if __name__ == '__main__':
    unittest.main(verbosity=2)
