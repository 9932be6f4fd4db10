"""A client of a session, on nothing but Python's standard library: token, TLS, WebSocket and messages are read and
written here by hand, from what is published of the protocol, and share no line with the server's own client.

Reads one JSON object from standard input: the authorization token, how many connections to make one after the other
and how many bytes to have echoed by each, and how the first message is sent: `with` the upgrade request in one write,
`after` its answer, or byte by byte (`bytes`). With `cancels` it asks for the session's end instead. Writes what it was
told as JSON, a line a connection.
"""

import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import tempfile

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def base58(text):
    number = 0
    for letter in text:
        number = number * 58 + ALPHABET.index(letter)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a protobuf message by number, each a list."""
    at, found = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            value -= (value >> 63) << 64
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError("a field of another kind")
        found.setdefault(tag >> 3, []).append(value)
    return found


def encode_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def handshake(tofu, cancels):
    message = encode_varint(10 << 3 | 2) + encode_varint(len(tofu)) + tofu
    return message + (encode_varint(20 << 3) + b"\x01" if cancels else b"")


def frame(opcode, payload):
    """A whole message, masked as a client's are (RFC 6455 section 5.2)."""
    mask = os.urandom(4)
    length = len(payload)
    if length < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
    elif length < 1 << 16:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, length)
    key = (mask * (length // 4 + 1))[:length]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(length, "big")
    return head + mask + masked


class Connection:
    def __init__(self, session, context, how, cancels):
        host, port = session["worker"].rsplit(":", 1)
        raw = socket.create_connection((host.strip("[]"), int(port)), timeout=30)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = context.wrap_socket(raw, server_hostname=session["id"])
        assert self.tls.version() == "TLSv1.3" and self.tls.selected_alpn_protocol() == "http/1.1"
        self.rest = b""
        key = base64.b64encode(os.urandom(16))
        request = (
            b"GET /v1/proxy HTTP/1.1\r\nHost: " + session["worker"].encode() + b"\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: " + key + b"\r\nSec-WebSocket-Protocol: boundary-tcp-proxy-v1\r\n\r\n"
        )
        first = frame(2, handshake(session["tofu"], cancels))
        if how == "with":
            self.tls.sendall(request + first)
        elif how == "bytes":
            for byte in request + first:
                self.tls.sendall(bytes([byte]))
        else:
            self.tls.sendall(request)
        self.read_answer(key)
        if how == "after":
            self.tls.sendall(first)

    def read_answer(self, key):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        status, *lines = head.split(b"\r\n")
        headers = {name.lower(): value.strip() for name, value in (line.split(b":", 1) for line in lines)}
        assert status.startswith(b"HTTP/1.1 101"), status
        accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
        assert headers[b"sec-websocket-accept"] == accept
        assert headers[b"sec-websocket-protocol"] == b"boundary-tcp-proxy-v1"
        assert b"sec-websocket-extensions" not in headers

    def more(self):
        piece = self.tls.recv(1 << 16)
        if not piece:
            raise EOFError("the worker has left")
        self.rest += piece

    def take(self, count):
        while len(self.rest) < count:
            self.more()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def message(self):
        """The next frame: its opcode and payload; a server's is whole and not masked."""
        head, length = self.take(2)
        assert head & 0x70 == 0 and length < 0x80
        if length == 126:
            (length,) = struct.unpack("!H", self.take(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self.take(8))
        return head & 0x0F, self.take(length)

    def close(self):
        """Leaves in order. Returns the code and the reason that come back."""
        self.tls.sendall(frame(8, struct.pack("!H", 1000)))
        return self.closed()

    def closed(self):
        opcode, payload = self.message()
        while opcode != 8:
            opcode, payload = self.message()
        return struct.unpack("!H", payload[:2])[0], payload[2:].decode()


def result_of(payload):
    message = fields(payload)
    seconds = fields(message[10][0])[1][0]
    return {
        "expiration": seconds,
        "connection_limit": message.get(20, [0])[0],
        "connections_left": message.get(30, [0])[0],
    }


def echo(connection, count):
    """Sends so many bytes in messages of all sizes, and hears the same."""
    sent = os.urandom(count)
    heard, at, size = b"", 0, 1
    while at < count:
        connection.tls.sendall(frame(2, sent[at : at + size]))
        at += size
        size = size * 3 % 70_001 + 1
        while len(heard) < at - (1 << 17) or (at >= count and len(heard) < count):
            opcode, payload = connection.message()
            if opcode == 8:
                raise EOFError(f"closed: {payload[2:].decode()}")
            heard += payload
    assert heard == sent
    return hashlib.sha256(heard).hexdigest()


def main():
    wanted = json.load(sys.stdin)
    token = fields(base58(wanted["token"]))
    session = {
        "id": token[10][0].decode(),
        "worker": fields(token[150][0])[10][0].decode(),
        "tofu": wanted["tofu"].encode(),
    }
    certificate = ssl.DER_cert_to_PEM_cert(token[120][0])
    # PKCS #8 of an Ed25519 key (RFC 8410 section 7): a fixed head before its seed.
    pkcs8 = bytes.fromhex("302e020100300506032b657004220420") + token[130][0][:32]
    key = "-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(pkcs8).decode() + "\n-----END PRIVATE KEY-----\n"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["http/1.1", session["id"]])
    context.load_verify_locations(cadata=certificate)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate + key)
        file.flush()
        context.load_cert_chain(file.name)
    cancels = wanted.get("cancels", False)
    for _ in range(wanted.get("connections", 1)):
        connection = Connection(session, context, wanted.get("how", "with"), cancels)
        if cancels:
            code, reason = connection.closed()
            told = {"code": code, "reason": reason}
        else:
            opcode, payload = connection.message()
            if opcode == 8:
                told = {"code": struct.unpack("!H", payload[:2])[0], "reason": payload[2:].decode()}
            else:
                told = {**result_of(payload), "sha256": echo(connection, wanted.get("bytes", 1000))}
                told["code"], told["reason"] = connection.close()
        connection.tls.close()
        print(json.dumps(told), flush=True)


main()
