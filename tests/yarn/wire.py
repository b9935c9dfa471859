# SPDX-License-Identifier: Apache-2.0
#
# Writes Hadoop's RPC and protobuf byte by byte, for programs of this folder that send messages that no client or server of
# Hadoop sends.
import base64
import hashlib
import re
import socket
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
    """Returns the fields of a message as pairs, without nested messages."""
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
    """Returns each field with one value. Of repeated fields, returns the last value."""
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
    """Returns the server's response to the call with this header."""
    call_id = fields(header)[3] >> 1  # zigzag encoding; never negative
    head = number(1, call_id) + number(2, 0) + number(3, 9) + message(7, fields(header)[4])
    return packet(head, body)


def refusal(header, class_name, text="No."):
    """Returns the server's response to the call with this header, which is an exception."""
    head = number(1, fields(header)[3] >> 1) + number(2, 1) + number(3, 9) + message(4, class_name) + message(5, text) + \
        number(6, 1) + message(7, fields(header)[4])
    return packet(head)


# ---- a server that accepts tokens -----------------------------------------------------------------------------------

def digest(user, password, nonce, count, cnonce, method):
    """Returns the response of DIGEST-MD5. method: AUTHENTICATE for the client's response, empty for the server's proof."""
    md5 = lambda b: hashlib.md5(b).hexdigest()
    a1 = hashlib.md5(f"{user}:default:{password}".encode()).digest() + f":{nonce}:{cnonce}".encode()
    return md5(f"{md5(a1)}:{nonce}:{count}:{cnonce}:auth:{md5(f'{method}:/default'.encode())}".encode())


def admit(connection, password_of):
    """Authenticates a client that begins its connection with a token, and returns the token's identifier. password_of: function
    that returns the password of an identifier. Does not check the client's response."""
    def receive():
        _, at = delimited(data := read_packet(connection), 0)
        return fields(delimited(data, at)[0])

    def send(body):
        connection.sendall(packet(number(1, 2 ** 32 - 33) + number(2, 0) + number(3, 9) + message(7, b""), body))

    read_exactly(connection, 7)
    receive()
    challenge = 'realm="default",nonce="bm9uY2U=",qop="auth",charset=utf-8,algorithm=md5-sess'
    way = message(1, "TOKEN") + message(2, "DIGEST-MD5") + message(3, "") + message(4, "default") + message(5, challenge)
    send(number(2, 1) + message(4, way))
    said = dict(re.findall(r'([a-z-]+)="?([^",]*)', receive()[3].decode()))
    identifier = base64.b64decode(said["username"])
    word = base64.b64encode(password_of(identifier)).decode()
    send(number(2, 0) + message(3, "rspauth=" + digest(said["username"], word, said["nonce"], said["nc"], said["cnonce"], "")))
    return identifier


# ---- a client with a token ------------------------------------------------------------------------------------------

class Refused(Exception):
    pass


def short(name):
    return name.decode().rsplit(".", 1)[-1]


class Client:
    """A connection to a server, from a separate local address, because nmd counts unknown clients by their address."""

    def __init__(self, address, protocol, source="127.0.0.2"):
        self.socket = socket.create_connection(address, 20, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # small messages follow each other without a response
        self.protocol = protocol
        self.calls = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def read(self):
        data = read_packet(self.socket)
        header, at = delimited(data, 0)
        h = fields(header)
        if h[2] != 0:
            raise Refused(short(h[4]))
        return delimited(data, at)[0] if at < len(data) else b""

    def sasl(self, body):
        self.socket.sendall(packet(number(1, 2) + number(2, 0) + number(3, 65) + message(4, b""), body))
        return self.read()

    def enter(self, identifier, password):
        self.socket.sendall(b"hrpc\x09\x00\xdf")
        ways = [fields(way) for way in every(self.sasl(number(2, 1)), 4)]
        challenge = next(way[5] for way in ways if 5 in way).decode()
        nonce = challenge.split('nonce="')[1].split('"')[0]
        user, word = (base64.b64encode(x).decode() for x in (identifier, password))
        response = digest(user, word, nonce, "00000001", "cafe", "AUTHENTICATE")
        text = f'charset=utf-8,username="{user}",realm="default",nonce="{nonce}",nc=00000001,cnonce="cafe",' \
               f'digest-uri="/default",maxbuf=65536,response={response},qop=auth'
        auth = message(1, "TOKEN") + message(2, "DIGEST-MD5") + message(3, "") + message(4, "default")
        self.sasl(number(2, 2) + message(3, text) + message(4, auth))
        self.socket.sendall(packet(number(1, 2) + number(2, 0) + number(3, 5) + message(4, b"0123456789abcdef"),
                                   message(3, self.protocol)))
        return self

    def call(self, method, body, protocol=None, version=1):
        head = number(1, 2) + number(2, 0) + number(3, self.calls << 1) + message(4, b"0123456789abcdef")
        self.calls += 1
        what = message(1, method) + message(2, protocol or self.protocol) + number(3, version)
        self.socket.sendall(packet(head, what, body))
        return self.read()


def respond(port, token):
    """Returns the server's reply to this SASL response of a client without a token."""
    with Client(("127.0.0.1", port), "", "127.0.0.3") as client:
        try:
            client.socket.sendall(b"hrpc\x09\x00\xdf")
            client.sasl(number(2, 1))
            auth = message(1, "TOKEN") + message(2, "DIGEST-MD5") + message(3, "") + message(4, "default")
            client.sasl(number(2, 2) + token + message(4, auth))
        except Refused as why:
            return str(why)
        except (EOFError, OSError):
            return "closed"
    return "let in"
