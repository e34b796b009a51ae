import json, os, socket, sys
def connect(at):
    if at.startswith("/"):
        s = socket.socket(socket.AF_UNIX); s.connect(at); return s
    host, port = at.rsplit(":", 1)
    return socket.create_connection((host, int(port)))
def say(at, token, *requests):
    s = connect(at); f = s.makefile("rwb")
    for line in ({"token": token},) + requests:
        f.write(json.dumps(line).encode() + b"\n")
    f.flush()
    for r in requests:
        while True:
            line = f.readline()
            if not line: print("EOF"); return
            m = json.loads(line); print(json.dumps(m, sort_keys=True, ensure_ascii=True))
            if m["type"] not in ("ExecOutput", "ExecError", "Output"): break
