"""Writes the parameters of a node to a file, as `ros2 param dump` does.

usage: dump.py NODE FILE
"""

import sys

import rclpy
import yaml
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

name, file = sys.argv[1:]
rclpy.init()
observer = Node('observer')


def call(kind, service, **fields):
    """Call a service of the node."""
    client = observer.create_client(kind, f'/{name}/{service}')
    assert client.wait_for_service(10.0), service
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(observer, future, timeout_sec=5.0)
    assert future.done(), f'{service} does not answer'
    return future.result()


names = call(ListParameters, 'list_parameters').result.names
values = call(GetParameters, 'get_parameters', names=names).values
parameters = {}
for key, value in zip(names, values):
    *groups, last = key.split('.')
    group = parameters
    for part in groups:
        group = group.setdefault(part, {})
    plain = parameter_value_to_python(value)
    group[last] = plain if isinstance(plain, (str, bool, int, float)) else list(plain)
with open(file, 'w') as out:
    yaml.safe_dump({f'/{name}': {'ros__parameters': parameters}}, out)
print(f'{len(names)} parameters of {name}')
