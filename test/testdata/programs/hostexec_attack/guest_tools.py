import array, json, os, resource, signal, socket, subprocess, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect("/run/carrel/host.sock")
    s.sendall(b'{"type":"Hello","version":1}\n'); return s
def ask(s, fds=(), **r):
    line = json.dumps(dict({"type": "Exec", "id": 1}, **r)).encode() + b"\n"
    s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
