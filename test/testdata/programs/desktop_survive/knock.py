import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print("connected", end=" ")
    s.settimeout(5)
    s.sendall(b"l\0\x0b\0\0\0\0\0\0\0\0\0")
    print({b"": "closed", b"\0": "refused"}.get(s.recv(1), "let in"))
except OSError as e: print(repr(e))
