"""What scripts of faults share: each fault is run in a process of its own, some at once, and their rows become a table."""

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

from robot import main

# More than this without output is silence, s.
GAP_S = 0.5


def recovery(samples, ended, finished, bound_m):
    """Seconds from the end of a fault until the estimate is within the bound and comes for good.

    A sample is the instant when it was heard, its error, and whatever else.
    """
    bad, last = ended, ended
    for at, error, *_ in samples:
        if at < ended:
            continue
        if at - last > GAP_S or not error < bound_m:
            bad = at
        last = at
    return math.inf if finished - last > GAP_S else bad - ended


def rows_of(names, nodes, long, domains):
    """Run these faults, one at a time in each domain."""
    rows, waiting = {}, queue.Queue()
    for name in names:
        waiting.put(name)

    def work(domain):
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            command = [sys.executable, sys.argv[0], *nodes, '--one', name, *(['--long'] if long else [])]
            environment = {**os.environ, 'ROS_DOMAIN_ID': domain}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            try:
                rows[name] = json.loads(done.stdout.splitlines()[-1])
            except (IndexError, ValueError):
                rows[name] = {'fault': name, 'happened': done.stderr[-300:], 'verdict': 'the script failed'}

    workers = [threading.Thread(target=work, args=(domain,)) for domain in domains]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return rows


def all_faults(arguments, faults, nodes, table):
    """Run all of them, print the table, and say with the exit code whether each is as it should be.

    Of the short form, which runs several at once on machines that do other things, a fault that failed is run once more by
    itself: without processor time, a node can keep no promise.
    """
    names = arguments.only or [name for name, declared in faults.items() if arguments.long or not declared['long_only']]
    unknown = [name for name in names if name not in faults]
    if unknown:
        sys.exit(f"no fault is called {', '.join(unknown)}; there are {', '.join(faults)}")
    domains = arguments.domains.split(',')[: arguments.jobs] if arguments.domains else [os.environ['ROS_DOMAIN_ID']]
    rows = rows_of(names, nodes, arguments.long, domains)
    print(table([rows[name] for name in names]))
    failed = lambda: [name for name in names if rows[name]['verdict'] != 'ok']
    if failed() and not arguments.long:
        print(f'once more, one at a time: {", ".join(failed())}')
        again = rows_of(failed(), nodes, False, domains[:1])
        print(table(list(again.values())))
        rows.update(again)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([rows[name] for name in names], indent=1))
    count = len(names) - len(failed())
    print(f'{count} of {len(names)} faults as they should be' + (f'; not: {", ".join(failed())}' if failed() else ''))
    return 1 if failed() else 0


def run(description, node, faults, examine, table):
    """Run what the command line asks for. `examine` runs one fault: its row."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(node)
    parser.add_argument('simulator_node')
    parser.add_argument('--long', action='store_true', help='longer faults, those that take long, and no patience')
    parser.add_argument('--jobs', type=int, default=2, help='faults at a time')
    parser.add_argument('--domains', default='', help='ROS domains to use, one for each job')
    parser.add_argument('--only', nargs='*', default=[], help='only these faults')
    parser.add_argument('--json', help='a file for all that was found')
    parser.add_argument('--one', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    nodes = [getattr(arguments, node), arguments.simulator_node]

    def one():
        """The row as JSON, for the process that collects them."""
        print(json.dumps(examine(arguments.one, *nodes, arguments.long)))
        return 0

    if arguments.one:
        main(one)
    sys.exit(all_faults(arguments, faults, nodes, table))
