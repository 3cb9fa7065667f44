"""Drives a managed node as `ros2 lifecycle` and nav2_lifecycle_manager do: in every order, also a wrong one.

usage: lifecycle.py NODE
NODE runs with autostart:=false. What it says of its states is compared with a managed node of rclpy.
"""

import random
import sys
import time

import rclpy
from lifecycle_msgs.msg import Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableStates, GetAvailableTransitions, GetState
from peer import Peer, nanos
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from std_srvs.srv import Trigger

NAME = sys.argv[1]
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4
UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = 1, 2, 3, 4
# What can be asked for in which state, and where it leads.
WAYS = {
    UNCONFIGURED: {CONFIGURE: INACTIVE, 5: FINALIZED},
    INACTIVE: {CLEANUP: UNCONFIGURED, ACTIVATE: ACTIVE, 6: FINALIZED},
    ACTIVE: {DEACTIVATE: INACTIVE, 7: FINALIZED},
    FINALIZED: {},
}
EVERY_ID = [*range(9), 10, 11, 20, 30, 31, 40, 50, 60, 97, 99, 255]
LABELS = {1: 'configure', 2: 'cleanup', 3: 'activate', 4: 'deactivate', 5: 'shutdown', 6: 'shutdown', 7: 'shutdown'}

rclpy.init()
peer = Peer()
reference = LifecycleNode('reference')
executor = SingleThreadedExecutor()
executor.add_node(reference)
events = []
peer.create_subscription(TransitionEvent, f'{NAME}/transition_event', events.append, 100)
peer.until(lambda: peer.count_publishers(f'{NAME}/transition_event'), 'the topic of events')
clients = {}


def call(kind, name, request=None, node=NAME):
    """Call a service of a node; of the reference, in this process."""
    if (node, name) not in clients:
        clients[node, name] = peer.create_client(kind, f'{node}/{name}')
    client = clients[node, name]
    deadline = time.monotonic() + 10.0
    while not client.service_is_ready():
        assert time.monotonic() < deadline, name
        time.sleep(0.01)
    future = client.call_async(request or kind.Request())
    while not future.done():
        assert time.monotonic() < deadline, f'{name} does not answer'
        rclpy.spin_once(peer, timeout_sec=0.01)
        if node == 'reference':
            executor.spin_once(timeout_sec=0.01)
    return future.result()


def state(node=NAME):
    """Number and label."""
    answer = call(GetState, 'get_state', node=node).current_state
    return answer.id, answer.label


def change(number=0, label=''):
    """Whether a transition was made."""
    request = ChangeState.Request(transition=Transition(id=number, label=label))
    return call(ChangeState, 'change_state', request).success


def transitions(name, node=NAME):
    """What a service says of transitions."""
    found = call(GetAvailableTransitions, name, node=node).available_transitions
    ends = [((t.start_state.id, t.start_state.label), (t.goal_state.id, t.goal_state.label)) for t in found]
    return [(t.transition.id, t.transition.label, *end) for t, end in zip(found, ends)]


def states(node=NAME):
    """All states, in their order."""
    return [(s.id, s.label) for s in call(GetAvailableStates, 'get_available_states', node=node).available_states]


# What the node says of itself is what a node of rclpy says.
assert state() == state('reference') == (1, 'unconfigured')
assert states() == states('reference') and len(states()) == 11
assert transitions('get_transition_graph') == transitions('get_transition_graph', 'reference')
assert transitions('get_available_transitions') == transitions('get_available_transitions', 'reference')
[ours] = [i for i in peer.get_publishers_info_by_topic(f'/{NAME}/transition_event')]
[theirs] = [i for i in peer.get_publishers_info_by_topic('/reference/transition_event')]
assert (ours.topic_type, ours.topic_type_hash) == (theirs.topic_type, theirs.topic_type_hash)
assert ours.qos_profile.reliability == theirs.qos_profile.reliability
assert ours.qos_profile.durability == theirs.qos_profile.durability


def checked(now, number, label=''):
    """Ask for a transition, right or wrong; the state that has to follow does."""
    before = len(events)
    goal = WAYS[now].get(number, now)
    known = label or number in WAYS[now]
    assert change(0 if label else number, label) == bool(known), (now, number, label)
    assert state()[0] == goal, (now, number, label, state())
    assert [t[0] for t in transitions('get_available_transitions')] == sorted(WAYS[goal]), (goal, transitions)
    if goal != now:
        peer.until(lambda: len(events) >= before + 2, 'the events of a change')
        first, second = events[before:]
        assert (first.start_state.id, second.goal_state.id) == (now, goal), events[before:]
        assert first.goal_state.id == second.start_state.id >= 10 and first.transition.id == number
        assert first.timestamp <= second.timestamp and second.transition.label == 'transition_success'
    else:
        assert len(events) == before, (now, number)
    return goal


now = UNCONFIGURED
# In every state everything that is wrong, and then each way out of it.
for way in (CONFIGURE, CLEANUP, CONFIGURE, ACTIVATE, DEACTIVATE, ACTIVATE):
    for wrong in EVERY_ID:
        if wrong not in WAYS[now]:
            now = checked(now, wrong)
    assert not change(label='no such transition') and not change(way, 'no such transition')
    now = checked(now, way)
assert now == ACTIVE

if NAME == 'slam_node':
    def silence(when):
        """Drive blindly: nothing comes back. What was said before may be heard only now, so the stamps decide."""
        last = peer.now_ns
        for _ in range(20):
            peer.k += 1
            peer.odom.publish(peer.odometry())
            peer.features.publish(peer.seen())
            rclpy.spin_once(peer, timeout_sec=0.01)
        peer.until(lambda: peer.diagnostics and peer.next_status()[2]['state'] == when, when)
        late = [nanos(m.header.stamp) for m in [*peer.poses, *peer.filtered] if nanos(m.header.stamp) > last]
        assert not late, (when, last, late)
        level, said, values = peer.next_status()
        assert level == 1 and f'the node is {when}' in said, (level, said)
        for name in ('reset', 'save_map', 'load_map', 'relocalize'):
            answer = call(Trigger, name)
            assert not answer.success and f'the node is {when}' in answer.message, (name, answer)

    peer.connect()
    peer.drive(30)
    peer.check_pose('while active')
    assert peer.next_status()[2]['map.features'] == '5'
    used = int(peer.next_status()[2]['odom.used'])
    now = checked(now, DEACTIVATE)
    silence('inactive')
    assert int(peer.next_status()[2]['odom.used']) == used, 'an inactive node takes nothing in'
    assert peer.next_status()[2]['map.features'] == '5', 'what is known stays'
    # The robot stood still meanwhile, and goes on where it stopped.
    at = peer.x
    now = checked(now, ACTIVATE)
    stood = at - 20 * 0.02
    peer.start(peer.now_ns + 20_000_000, x=stood)
    peer.drive(30)
    peer.check_pose('active again', tolerance=0.05)
    now = checked(now, DEACTIVATE)
    now = checked(now, CLEANUP)
    silence('unconfigured')
    assert peer.next_status()[2]['map.features'] == '0', 'a cleanup forgets the map'
    now = checked(checked(now, CONFIGURE), ACTIVATE)
    peer.start(peer.now_ns + 20_000_000)
    peer.drive(30)
    peer.check_pose('begun anew')

# Any order at all.
chance = random.Random(7)
for _ in range(60):
    number = chance.choice([n for n in EVERY_ID if n not in (5, 6, 7)])
    by_label = number in WAYS[now] and chance.random() < 0.3
    now = checked(now, number, LABELS[number] if by_label else '')
    if chance.random() < 0.4:
        now = checked(now, chance.choice([n for n in WAYS[now] if n < 5]))
shutdown = {UNCONFIGURED: 5, INACTIVE: 6, ACTIVE: 7}[now]
now = checked(now, shutdown, 'shutdown')
for wrong in EVERY_ID:
    now = checked(now, wrong)
assert state() == (4, 'finalized') and transitions('get_available_transitions') == []
print(NAME, len(events), 'events')
