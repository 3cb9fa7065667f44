"""Reads a bag with the official Python readers, and writes it again for lienav to read.

usage: bag_peers.py BAG OUT_DB3 OUT_MCAP
Exits with 77 where the packages rosbags, mcap and mcap-ros2-support are not installed.
"""

import sys
from pathlib import Path

try:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
except ImportError as error:
    print(error)
    sys.exit(77)

bag, out_db3, out_mcap = map(Path, sys.argv[1:])
jazzy = get_typestore(Stores.ROS2_JAZZY)


def check_definition(connection):
    """The definition in the bag describes the type that Jazzy has under its name."""
    alone = get_typestore(Stores.EMPTY)
    alone.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
    hashes = {alone.hash_rihs01(connection.msgtype), jazzy.hash_rihs01(connection.msgtype), connection.digest}
    assert len(hashes) == 1, (connection.msgtype, hashes)


def copy(reader, out, plugin):
    with Writer(out, version=9, storage_plugin=plugin) as writer:
        copies = {
            c.id: writer.add_connection(
                c.topic, c.msgtype, typestore=jazzy, offered_qos_profiles=c.ext.offered_qos_profiles
            )
            for c in reader.connections
        }
        for connection, stamp, raw in reader.messages():
            writer.write(copies[connection.id], stamp, raw)


with Reader(bag) as reader:
    counts = {c.topic: 0 for c in reader.connections}
    for connection in reader.connections:
        check_definition(connection)
        assert connection.ext.offered_qos_profiles, connection.topic
    for connection, _, raw in reader.messages():
        message = jazzy.deserialize_cdr(raw, connection.msgtype)
        assert jazzy.serialize_cdr(message, connection.msgtype) == raw, connection.topic
        counts[connection.topic] += 1
    assert sum(counts.values()) == reader.message_count
    copy(reader, out_db3, StoragePlugin.SQLITE3)
    copy(reader, out_mcap, StoragePlugin.MCAP)

with next(bag.glob("*.mcap")).open("rb") as file:
    decoded = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
    for _, channel, _, message in decoded:
        counts[channel.topic] -= 1
        if channel.topic == "/features":
            assert [f.name for f in message.fields][:1] == ["id"]
    assert not any(counts.values()), counts
