"""Ctrl-C in calls that take long."""

import signal
import subprocess
import sys
import time

import pytest

CALLS = {
    "monte carlo": "lienav.monte_carlo('thesis-circle-10hz-low-q1', runs=100_000)",
    "evaluate": "lienav.evaluate(lienav.simulate(settings={'trajectory.laps': 200}), ['default', 'ekf', 'reduced'])",
    "slam": "slam = lienav.Slam(); r = lienav.simulate(settings={'trajectory.laps': 20})\n    while True: slam.run(r)",
    "executor": "lienav.monte_carlo('thesis-circle-10hz-low-q1', runs=100_000, executor=pool)",
}

PROGRAM = """
import concurrent.futures, signal, threading, time, lienav
# A process in the background of a shell ignores SIGINT, and so would those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
pool = concurrent.futures.ThreadPoolExecutor(1)
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os; os._exit(7)
"""


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_is_heard_in(name):
    program = PROGRAM.format(call=CALLS[name])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.stdout.read() == "interrupted\n"
        assert process.wait(30) == 7
        # A busy machine has its time; the call itself would take minutes.
        assert time.monotonic() - began < 20
