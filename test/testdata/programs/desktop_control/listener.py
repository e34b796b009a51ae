"""A client of the accessibility bus that listens to every key and writes into a text.

Arguments: the address of the bus, the unique name of a program and the path of its text.
It prints "key" for each key that it is told of, and "wrote" or the name of the error for
each time it writes a letter, five times a second.
"""
import socket
import struct
import sys
import time

ADDRESS, PROGRAM, TEXT = sys.argv[1:]
BUS = "org.freedesktop.DBus"
CALL, RETURN, ERROR = 1, 2, 3


class Writer:
    def __init__(self):
        self.data = b""

    def pad(self, to):
        self.data += bytes(-len(self.data) % to)

    def number(self, n, form="<I"):
        self.pad(struct.calcsize(form))
        self.data += struct.pack(form, n)

    def text(self, s):
        self.number(len(s.encode()))
        self.data += s.encode() + b"\0"

    def signature(self, s):
        self.data += bytes([len(s)]) + s.encode() + b"\0"


def message(kind, serial, fields, signature="", body=b""):
    if signature:
        fields = fields + [(8, "g", signature)]
    array = Writer()
    for code, form, value in fields:
        array.pad(8)
        array.data += bytes([code])
        array.signature(form)
        {"g": array.signature, "u": array.number}.get(form, array.text)(value)
    head = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), serial, len(array.data)) + array.data
    return head + bytes(-len(head) % 8) + body


def call(serial, to, path, interface, member, signature="", body=b""):
    fields = [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", to)]
    return message(CALL, serial, fields, signature, body)


def take(bus, n):
    data = b""
    while len(data) < n:
        more = bus.recv(n - len(data))
        if not more:
            raise SystemExit("the bus hung up")
        data += more
    return data


def receive(bus):
    """The next message: its kind, its serial number and its fields as bytes."""
    head = take(bus, 16)
    kind = head[1]
    body, serial, fields = struct.unpack("<III", head[4:])
    fields = take(bus, fields + -fields % 8)
    take(bus, body)
    return kind, serial, fields


def sender(fields):
    """The unique name in the field that begins with 7, a string."""
    at = fields.index(b"\x07\x01s\0") + 4
    size = struct.unpack("<I", fields[at:at + 4])[0]
    return fields[at + 4:at + 4 + size].decode()


def register():
    body = Writer()
    body.text("/listener")  # an object path
    body.number(0)  # all keys: an empty array of structures
    body.pad(8)
    body.number(0)  # modifiers
    body.number(3)  # presses and releases
    body.pad(8)
    for flag in (0, 0, 0):  # not synchronous, not pre-emptive, not by a grab of the display
        body.number(flag)
    return call(2, "org.a11y.atspi.Registry", "/org/a11y/atspi/registry/deviceeventcontroller",
                "org.a11y.atspi.DeviceEventController", "RegisterKeystrokeListener", "oa(iisi)uu(bbb)", body.data)


def write(serial):
    body = Writer()
    body.number(0)  # position
    body.text("@")
    body.number(1)  # length
    return call(serial, PROGRAM, TEXT, "org.a11y.atspi.EditableText", "InsertText", "isi", body.data)


def main():
    bus = socket.socket(socket.AF_UNIX)
    bus.connect(ADDRESS.split("path=", 1)[1].split(",", 1)[0])
    bus.sendall(b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n")
    while b"OK" not in (line := b"".join(iter(lambda: take(bus, 1), b"\n"))):
        assert b"DATA" in line, line
    bus.sendall(call(1, BUS, "/org/freedesktop/DBus", BUS, "Hello") + register())
    serial, due = 2, time.monotonic()
    while True:
        if time.monotonic() >= due:
            serial, due = serial + 1, time.monotonic() + 0.2
            bus.sendall(write(serial))
        bus.settimeout(0.05)
        try:
            bus.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        bus.settimeout(None)
        kind, number, fields = receive(bus)
        if kind == CALL:
            print("key" if b"NotifyEvent" in fields else "called", flush=True)
            answer = Writer()
            answer.number(0)  # the key is not consumed
            bus.sendall(message(RETURN, 1 << 20, [(5, "u", number), (6, "s", sender(fields))], "b", answer.data))
        elif kind == ERROR:
            print("refused", flush=True)
        elif kind == RETURN and b"org.freedesktop.DBus" not in fields:
            print("wrote", flush=True)


main()
