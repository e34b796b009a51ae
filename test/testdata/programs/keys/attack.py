import os, socket, struct
def talk(data):
    s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(os.environ["SSH_AUTH_SOCK"])
    try:
        s.sendall(data)
        return s.recv(64)
    except OSError:
        return b""
    finally:
        s.close()
for data in [b"\xff"*64, struct.pack(">I", 0), struct.pack(">I", 1<<30)+b"x"*65536, struct.pack(">IB", 1, 19), struct.pack(">IB", 1, 255), struct.pack(">IBI", 5, 13, 1<<31)]:
    got = talk(data)
    assert got in (b"", struct.pack(">IB", 1, 5)), (data[:16], got)
held = []
for i in range(64):
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.environ["SSH_AUTH_SOCK"])
    except OSError: break
    held.append(s)
for s in held: s.close()
print("done")
