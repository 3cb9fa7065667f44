"""Asks running nodes what each type of their topics and services looks like, and compares with what rclpy says of it.

usage: type_description.py NODE [NODE …]
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path

import rclpy
from rclpy.executors import SingleThreadedExecutor
from type_description_interfaces.srv import GetTypeDescription

rclpy.init()
peer, reference = rclpy.create_node('peer'), rclpy.create_node('reference')
executor = SingleThreadedExecutor()
executor.add_node(reference)
executor.add_node(peer)
deadline = time.monotonic() + 60.0


def until(condition, what):
    """Spin until something holds."""
    while not condition():
        assert time.monotonic() < deadline, f'waited for {what}'
        executor.spin_once(timeout_sec=0.01)


def ask(node, name, hash_, sources=True):
    """What a node says of a type."""
    client = clients.setdefault(node, peer.create_client(GetTypeDescription, f'{node}/get_type_description'))
    until(client.service_is_ready, f'{node}/get_type_description')
    request = GetTypeDescription.Request(type_name=name, type_hash=hash_, include_type_sources=sources)
    future = client.call_async(request)
    until(future.done, f'the answer of {node}')
    return future.result()


def hash_of(name):
    """As it is installed."""
    for prefix in os.environ['AMENT_PREFIX_PATH'].split(':'):
        file = Path(prefix) / 'share' / f'{name}.json'
        if file.is_file():
            return json.loads(file.read_text())['type_hashes'][0]['hash_string']
    raise AssertionError(f'{name} is not installed')


def use(name):
    """Have the reference use a type, too, so that it answers for it."""
    if name in used:
        return True
    used.add(name)
    package, kind, type_ = name.split('/')
    try:
        interface = getattr(importlib.import_module(f'{package}.{kind}'), type_)
        if kind == 'msg':
            reference.create_publisher(interface, f'type_{len(used)}', 1)
        else:
            reference.create_service(interface, f'type_{len(used)}', lambda request, response: response)
    except (ImportError, AttributeError):
        strange.add(name)
    return True


clients, used, strange = {}, set(), set()
for node in sys.argv[1:]:
    until(lambda: node in peer.get_node_names(), node)
    queries = (
        peer.get_publisher_names_and_types_by_node,
        peer.get_subscriber_names_and_types_by_node,
        peer.get_service_names_and_types_by_node,
    )
    until(lambda: len(queries[2](node, '/')) >= 7 and len(queries[0](node, '/')) >= 3, f'the face of {node}')
    executor.spin_once(timeout_sec=0.5)
    types = sorted({t for query in queries for _, names in query(node, '/') for t in names})
    assert len(types) >= 10, (node, types)
    for name in types:
        use(name)
        answer = ask(node, name, hash_of(name))
        assert answer.successful and not answer.failure_reason, (node, name, answer.failure_reason)
        assert answer.type_description.type_description.type_name == name
        if name not in strange:
            expected = ask('reference', name, hash_of(name))
            assert expected.successful, (name, expected.failure_reason)
            assert answer == expected, (name, answer, expected)
        assert ask(node, name, hash_of(name), sources=False).type_sources == []
    # What a topic announces is what is described.
    for topic, [name] in queries[0](node, '/'):
        for info in peer.get_publishers_info_by_topic(topic):
            if info.node_name == node:
                assert str(info.topic_type_hash) == hash_of(name), (topic, info.topic_type_hash)
    for name, hash_, reason in (
        ('std_msgs/msg/String', hash_of('std_msgs/msg/String'), 'not currently in use'),
        ('nav_msgs/msg/Odometry', 'RIHS01_' + 64 * '0', 'not currently in use'),
        ('nav_msgs/msg/Odometry', 'nonsense', 'parse type hash'),
        ('../../etc/passwd', 'RIHS01_' + 64 * '0', 'not currently in use'),
    ):
        answer = ask(node, name, hash_)
        assert not answer.successful and reason in answer.failure_reason, (node, name, answer)
        expected = ask('reference', name, hash_)
        assert (expected.successful, expected.failure_reason) == (answer.successful, answer.failure_reason), expected
    print(f'{node}: {len(types)} types')
print('rclpy lacks', sorted(strange))
