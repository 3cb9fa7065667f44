"""Compares a layout of Foxglove with the topics that running nodes publish, and their messages.

usage: foxglove.py LAYOUT NODE [NODE …]
"""

import importlib
import json
import re
import sys
import time

import rclpy

file, *nodes = sys.argv[1:]
with open(file) as opened:
    layout = json.load(opened)
panels = layout['configById']


def leaves(node):
    """The panels of a part of the layout."""
    return [node] if isinstance(node, str) else leaves(node['first']) + leaves(node['second'])


# What is laid out is configured, once, and the other way round.
shown = leaves(layout['layout'])
assert sorted(shown) == sorted(panels), (shown, list(panels))
KNOWN = {'3D', 'StateTransitions', 'Plot', 'DiagnosticSummary', 'RosOut'}
assert {name.split('!')[0] for name in panels} <= KNOWN, list(panels)

rclpy.init()
observer = rclpy.create_node('observer')
published, heard = {}, {}
deadline = time.monotonic() + 15.0


def look():
    """What the nodes publish and hear, by topic."""
    for node in nodes:
        if node in observer.get_node_names():
            published.update(observer.get_publisher_names_and_types_by_node(node, '/'))
            heard.update(observer.get_subscriber_names_and_types_by_node(node, '/'))


def until_published(topic):
    """The type of a topic."""
    while topic not in published:
        assert time.monotonic() < deadline, f'nobody publishes {topic}'
        rclpy.spin_once(observer, timeout_sec=0.1)
        look()
    [name] = published[topic]
    return name


def message_of(name):
    """An empty message of a type."""
    package, _, kind = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), kind)()


def follow(path):
    """A path such as /pose.pose.covariance[7] leads to a number or a text."""
    topic, *fields = path.split('.')
    value = message_of(until_published(topic))
    for field in fields:
        name, index = re.fullmatch(r'(\w+)(?:\[(\d+)\])?', field).groups()
        value = getattr(value, name)
        value = value if index is None else value[int(index)]
    assert isinstance(value, (int, float, str)), (path, value)


topics = set()
for name, panel in panels.items():
    topics |= {topic for topic, shows in panel.get('topics', {}).items() if shows['visible']}
    topics |= {panel['topicToRender']} if 'topicToRender' in panel else set()
    for path in panel.get('paths', []):
        topics.add(path['value'].split('.')[0])
        follow(path['value'])
for topic in topics:
    until_published(topic)
assert len(topics) >= 9, topics
while (given := panels['3D!lienav']['publish']['poseEstimateTopic']) not in heard:
    assert time.monotonic() < deadline, f'nobody hears {given}'
    rclpy.spin_once(observer, timeout_sec=0.1)
    look()
print(len(topics), 'topics')
