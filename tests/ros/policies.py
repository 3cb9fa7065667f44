"""Compares what the SROS2 policies allow a node with what running nodes use: neither more nor less.

usage: policies.py POLICIES ENCLAVE NODE [NODE …]
The nodes are of one kind, in the modes it has; together they use all that the enclave allows. docs/topics.md has the
same with types; with LIENAV_UPDATE_DOCS in the environment, its table is written anew.
"""

import os
import pathlib
import re
import sys
import time
import xml.etree.ElementTree as ElementTree

import rclpy
from rclpy.node import Node

policies, enclave, *names = sys.argv[1:]


def full(name, node):
    """A name without its abbreviations, with ~ kept for the node."""
    if name.startswith(f'/{node}/'):
        return name.replace(f'/{node}/', '~/', 1)
    return name if name.startswith(('~', '/')) else f'/{name}'


def allowed():
    """(what, name) of all that the enclave allows."""
    found = set()
    root = ElementTree.parse(policies).getroot()
    for profile in root.findall(f".//enclave[@path='{enclave}']/profiles/profile"):
        for group in profile:
            actions = [action for action, rule in group.attrib.items() if rule == 'ALLOW']
            assert actions and len(group), f'{enclave}: a group without effect'
            found |= {(action, full(item.text, profile.get('node'))) for action in actions for item in group}
    assert found, f'{policies} says nothing of {enclave}'
    return found


def used(observer, name):
    """(what, name) of all that a node uses."""
    questions = {
        'publish': observer.get_publisher_names_and_types_by_node,
        'subscribe': observer.get_subscriber_names_and_types_by_node,
        'reply': observer.get_service_names_and_types_by_node,
        'request': observer.get_client_names_and_types_by_node,
    }
    return {
        (what, full(topic, name)): ' or '.join(sorted(types))
        for what, ask in questions.items()
        for topic, types in ask(name, '/')
    }


# What the sections of every node and of managed nodes have on the page, once for all.
COMMON = {
    '/parameter_events',
    '/rosout',
    '~/change_state',
    '~/describe_parameters',
    '~/get_available_states',
    '~/get_available_transitions',
    '~/get_parameter_types',
    '~/get_parameters',
    '~/get_state',
    '~/get_transition_graph',
    '~/get_type_description',
    '~/list_parameters',
    '~/set_parameters',
    '~/set_parameters_atomically',
    '~/transition_event',
}


def compare_with_the_page(types):
    """Hold the section of docs/topics.md of this enclave against what is used."""
    page = pathlib.Path(policies).resolve().parents[2] / 'docs/topics.md'
    words = {'subscribe': 'subscribes', 'publish': 'publishes', 'reply': 'serves', 'request': 'calls'}
    rows = [
        f'| {word} | `{topic}` | {types[what, topic].replace("/msg/", "/").replace("/srv/", "/")} |'
        for what, word in words.items()
        for _, topic in sorted(key for key in types if key[0] == what and key[1] not in COMMON)
    ]
    table = '\n'.join(['| | name | type |', '|---|---|---|', *rows])
    text = page.read_text()
    heading = f'## {enclave.split("/")[-1]}\n'
    assert heading in text, f'{page} has no section {heading}'
    before, after = text.split(heading, 1)
    section = re.match(r'(?s)(.*?)(?=\n## |\Z)', after).group(1)
    if section.strip() == table:
        return
    assert 'LIENAV_UPDATE_DOCS' in os.environ, f'{page}, {heading}: LIENAV_UPDATE_DOCS=1 writes\n{table}'
    page.write_text(f'{before}{heading}\n{table}\n{after[len(section):]}')


rclpy.init()
observer = Node('observer')
deadline = time.monotonic() + 15.0
while not set(names) <= set(observer.get_node_names()):
    assert time.monotonic() < deadline, f'{names} are not all there'
    rclpy.spin_once(observer, timeout_sec=0.1)
wanted = allowed()
while True:
    types = {key: kinds for name in names for key, kinds in used(observer, name).items()}
    if (uses := set(types)) == wanted or time.monotonic() >= deadline:
        break
    rclpy.spin_once(observer, timeout_sec=0.1)
assert uses == wanted, f'not allowed, but used: {sorted(uses - wanted)}; allowed, but not used: {sorted(wanted - uses)}'
compare_with_the_page(types)
print(f'{enclave}: {len(uses)} permissions')
