# SPDX-License-Identifier: Apache-2.0
#
# Hadoop's RPC and protobuf by hand, byte by byte, for those of this folder who say what no client or server of Hadoop's
# would.
import struct


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return n, at


def walk(data):
    """The fields of a message, one level deep, as pairs."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 2:
            size, at = read_varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            size = 4 if key & 7 == 5 else 8
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def fields(data):
    """Those that come once; of others the last."""
    return dict(walk(data))


def every(data, field):
    return [value for key, value in walk(data) if key == field]


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def delimited(data, at):
    size, at = read_varint(data, at)
    return data[at:at + size], at + size


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def read_packet(connection):
    return read_exactly(connection, struct.unpack(">I", read_exactly(connection, 4))[0])


def packet(*messages):
    data = b"".join(varint(len(m)) + m for m in messages)
    return struct.pack(">I", len(data)) + data


def answered(header, body):
    """What a server says to the call with this header."""
    call_id = fields(header)[3] >> 1  # zigzag, and never negative
    head = number(1, call_id) + number(2, 0) + number(3, 9) + message(7, fields(header)[4])
    return packet(head, body)
