"""What calls from Python cost: the filter over one recording, message by message, from arrays, and as a whole.

    python python/benchmarks/calls.py woods:FOLDER

The last of these three hands the filter what Rust has read, and is the loop that a program in Rust has. Times are those
of the processor, and the least of some repetitions counts: others are disturbed.
"""

from __future__ import annotations

import sys
import time

import lienav


def least(repetitions, prepare, work):
    times = []
    for _ in range(repetitions):
        prepared = prepare()
        begin = time.thread_time()
        result = work(*prepared)
        times.append(time.thread_time() - begin)
    return min(times), result


def main(source):
    recording = lienav.open(source) if ":" in source or "/" in source else lienav.simulate(source)
    settings = recording.settings
    odometry, features, order = recording.odometry, recording.features, recording.order
    # What a program would have at hand for each message: numbers, and the arrays of a cloud.
    twists, kind = odometry.twist.tolist(), features.kind[0]
    stamps = odometry.stamp_ns.tolist()
    clouds = [
        (stamp, features.values[a:b], features.ids[a:b])
        for stamp, a, b in zip(features.stamp_ns.tolist(), features.first, features.first[1:])
    ]
    messages = [("o", stamps.pop(0), *twists.pop(0)) if k == 0 else ("f", *clouds.pop(0)) for k in order if k != 1]

    def singly(slam):
        steps = 0
        for message in messages:
            if message[0] == "o":
                slam.odometry(message[1], message[2], message[3], message[4])
            else:
                slam.features(message[1], message[2], message[3], kind=kind)
            while slam.poll() is not None:
                steps += 1
        return steps

    def new():
        return (lienav.Slam(settings),)

    n = len(messages)
    rust, steps = least(9, new, lambda slam: slam.run(recording, finish=False))
    arrays, _ = least(9, new, lambda slam: slam.run(odometry=odometry, features=features, order=order, finish=False))
    single, count = least(9, new, singly)
    assert count == len(steps)
    print(f"{recording.name}: {n} messages, {count} steps")
    for name, took in (("a recording", rust), ("arrays", arrays), ("message by message", single)):
        print(f"{name:20} {1e6 * took / n:8.3f} µs a message, {took / rust:6.3f} x, {1e6 * (took - rust) / n:+7.3f} µs")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "range-bearing")
