//! What the documents call that is not run here as it is written, and why. Every row is looked for in the documents.

/// A line of code that begins with one of these is a command.
pub const PROGRAMS: &[&str] =
    &["lienav ", "cargo ", "ros2 ", "python3 ", "v/bin/", "source ", "cd ", "git ", "colcon ", "LIENAV_", "export ROS"];

/// The command as it is written, what is run instead, and why.
pub const INSTEAD: &[(&str, &str, &str)] = &[
    (
        "lienav reproduce referee --data recordings --python v/bin/python --out referee",
        "lienav reproduce referee --quick --out referee",
        "data sets of others, and packages that not every machine has; the simulated recording is run",
    ),
    (
        "lienav evaluate woods:FOLDER --filter default",
        "lienav evaluate woods:lost_in_the_woods --filter default",
        "FOLDER stands for a folder",
    ),
    (
        "lienav evaluate mrclam:FOLDER:ROBOT --config config/robot.yaml --map truth [--ignore-ids]",
        "lienav evaluate mrclam:MRCLAM_Dataset6:1 --config config/robot.yaml --map truth --ignore-ids",
        "FOLDER and ROBOT stand for a folder and a robot, and what is in brackets can be left out",
    ),
    (
        "lienav evaluate woods:FOLDER --config config/lost_in_the_woods.yaml --map truth --map-std 0.025 --ignore-ids \
         --set initial.mode=unknown",
        "lienav evaluate woods:lost_in_the_woods --config config/lost_in_the_woods.yaml --map truth --map-std 0.025 \
         --ignore-ids --set initial.mode=unknown",
        "FOLDER stands for a folder",
    ),
    (
        "lienav monte-carlo esde --runs 400 --shard 3/8 --out parts",
        "for k in 1 2 3 4 5 6 7 8; do lienav monte-carlo esde --runs 8 --shard $k/8 --out parts; done",
        "it is said of each of eight machines, and `lienav merge` wants all of them",
    ),
    (
        "lienav monte-carlo range-bearing --filters default,ekf --runs 2500 --shard 1/8 --out parts",
        "rm -rf parts; for k in 1 2; do lienav monte-carlo range-bearing --filters default,ekf --runs 2 --shard $k/2 --out parts; done",
        "minutes, and it is said of each of eight machines; `lienav merge` wants all of them",
    ),
    (
        "lienav serve results",
        "timeout --signal=INT --kill-after=5 1 lienav serve results --port 0 || test $? = 124",
        "it serves until it is told to end, and its port may be taken",
    ),
    (
        "lienav serve results --port 0",
        "timeout --signal=INT --kill-after=5 1 lienav serve results --port 0 || test $? = 124",
        "it serves until it is told to end",
    ),
    (
        "lienav attitude my_bag --imu-topic /imu/data_raw --method cayley --set gyroscope.delay_s=0 --json",
        "lienav attitude my_bag --imu-topic /imu --method cayley --set gyroscope.delay_s=0 --json",
        "the simulator publishes /imu",
    ),
    (
        "lienav reproduce thesis-5 --tables 5.1,5.3 --json",
        "lienav reproduce thesis-5 --tables 5.1 --runs 1 --json",
        "50 runs of 36 scenes take minutes",
    ),
    (
        "lienav monte-carlo marked-orchard:1000 --runs 3 --filter-set map.local_features=50 --filter-set map.max_features=100000",
        "lienav monte-carlo marked-orchard:40 --runs 1 --filter-set map.local_features=20 --filter-set map.max_features=100000",
        "minutes",
    ),
];

/// The beginning of a command, and why it is not run.
pub const NOT_RUN: &[(&str, &str)] = &[
    ("lienav reproduce thesis-2 --out", "minutes; `--quick` is run, and lienav-lab's tests have its parts"),
    ("lienav reproduce all", "an hour; tests/config holds the rows of docs/lab/papers.md against what can be run"),
    ("lienav reproduce thesis-5", "minutes; one of its tables is run"),
    ("python3 benches/like_mrclam.py", "half an hour; lienav-slam's tests of the Gaussian sum have two such runs"),
    ("python3 benches/ablation.py", "half an hour; tests/cli asks for the mechanisms that there are"),
    ("lienav monte-carlo space:", "half a minute; lienav-eval's tests have shorter runs of such scenarios"),
    ("lienav reproduce honesty", "a quarter of an hour; lienav-eval's tests have a case, tests/cli a recording"),
    ("lienav evaluate victoria:victoria_park", "a quarter of a minute; lienav-runs' tests run filters over it"),
    ("lienav evaluate plaza:plaza_1 --filter default --filter batch", "a minute; the filter is run over it"),
    ("python3 tests/batch_of_prefix.py", "minutes of batch estimates"),
    ("cargo bench", "a measurement of speed; clippy compiles it"),
    ("cargo run --release --no-default-features --features lab -- reproduce all", "an hour, see above"),
    ("cargo xtask faults --long", "an hour; the short form is run"),
    ("cargo test --release", "tests that are marked as long; those of the same file with few runs are run in CI"),
    (
        "LIENAV_RUNS=1000 cargo test",
        "tests that are marked as long; those of the same file with few runs are run in CI",
    ),
    ("LIENAV_RUNS=20 cargo test", "tests that are marked as long; those of the same file with few runs are run in CI"),
    ("ros2 run apriltag_ros", "a package of others, which is not on every machine with ROS 2"),
    ("ros2 run tf2_ros", "a package of others, which is not on every machine with ROS 2"),
    ("ros2 run nav2_lifecycle_manager", "Nav2, which is not on every machine with ROS 2"),
    ("ros2 run nav2_map_server", "Nav2, which is not on every machine with ROS 2"),
    ("ros2 launch nav2_bringup", "Nav2, which is not on every machine with ROS 2"),
    ("ros2 topic echo", "ros2cli; tests/ros subscribe to the same topics"),
    ("ros2 bag record", "rosbag2; tests/bag_peers.py has rosbags write what it writes"),
    ("export ROS_SECURITY_ENABLE=true", "sets a variable for the commands below it"),
    ("cd", "goes to a folder of the reader's"),
    ("git clone <this repository>", "a pattern"),
    ("source /opt/ros/kilted/setup.bash", "as `colcon` in .github/workflows/ci.yml, in an image of that distribution"),
    ("source install/setup.bash", "sets the variables of a workspace; tests/colcon.rs runs what is installed there"),
    ("v/bin/pip install matplotlib", "packages of others; xtask installs those of python/requirements.txt"),
];

/// The beginning of a command, the file of what runs it in CI, and words that stand there.
pub const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("lienav record", "tests/ros/record.py", "LIENAV, 'record', BAG"),
    ("lienav play", "tests/ros/bags.rs", "\"play\", bag, \"--clock\""),
    ("lienav evaluate --live", "tests/ros/bags.rs", "\"evaluate\", \"--live\", \"--page\""),
    ("ros2 launch lienav", "tests/launch_files.py", "test_every_call_in_a_document_starts_what_it_says"),
    ("ros2 run lienav lienav map info", "tests/colcon.rs", "install.join(\"lienav/lib/lienav\")"),
    (
        "ros2 run lienav slam_node --ros-args -p map.local_features:=50",
        "tests/ros/parts.py",
        "'map.local_features:=12'",
    ),
    ("ros2 service call /slam_node/save_map", "tests/ros/map.py", "call(Trigger, 'save_map')"),
    (
        "ros2 service call /slam3d_node/save_map",
        "tests/ros/space_tags.py",
        "create_client(Trigger, '/slam3d_node/save_map')",
    ),
    ("ros2 lifecycle set", "tests/ros/lifecycle.py", "ChangeState"),
    ("ros2 security create_keystore", "tests/ros/security.py", "security('create_keystore', keystore)"),
    ("ros2 security create_enclave", "tests/ros/security.py", "security('create_enclave', keystore, enclave)"),
    ("ros2 security create_permission", "tests/ros/security.py", "security('create_permission', keystore"),
    ("colcon build", "tests/colcon.rs", "colcon.build(workspace)?"),
    ("cargo xtask demo", "xtask/src/checks.rs", "demo::run("),
    ("cargo xtask test", ".ci/run", "exec cargo xtask test"),
    ("cargo xtask doctor", "xtask/src/checks.rs", "tools::doctor("),
    ("cargo xtask faults", "tests/ros/faults.rs", "faults.py"),
    ("cargo xtask soak", "tests/ros/faults.rs", "soak.py"),
    ("cargo test -p lienav-runs --lib tests::", "xtask/src/checks.rs", "lienav-runs"),
    ("cargo test --no-default-features --test bombs", "xtask/src/checks.rs", "tests without ROS"),
    (
        "cargo run --no-default-features --example 01_range_bearing_slam",
        "tests/examples.rs",
        "range_bearing_slam::main()",
    ),
    ("cargo run --release --no-default-features --features lab -- reproduce list", "tests/config/papers.rs", "list"),
    ("cargo run --release --example fuzz -- filter", "fuzz/short.rs", "run(target, 1, runs)"),
    ("python3 -m venv v", "xtask/src/python.rs", "[\"-m\", \"venv\"]"),
    ("v/bin/pip install ./python", "xtask/src/python.rs", "\"./python\"]"),
    ("v/bin/jupyter notebook", "python/tests/test_face.py", "notebooks"),
];
