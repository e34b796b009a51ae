t = os.environ["WM_RPC_TOKEN"]
at = os.environ["WM_RPC_HOST"] + ":" + os.environ["WM_RPC_PORT"]
for where in ("/run/carrel/host.sock", at):
    say(where, t, {"type": "Heartbeat"}, {"type": "SetStatus", "status": "working"}, {"type": "SetTitle", "title": "tests"},
        {"type": "Exec", "command": "hx", "args": ["-c", "pwd; echo e >&2; echo $(id -u) > made; exit 7"]}, {"type": "Exec", "command": "rm", "args": []},
        {"type": "Exec", "command": "xdg-open", "args": ["https://example.com/x"]},
        {"type": "SpawnAgent", "prompt": "x", "branch_name": None, "background": None}, {"type": "Merge", "name": "x"}, {"type": "Close", "name": "x"}, {"type": "ClipboardRead", "mime": "image/png"})
say(at, "0" * 64, {"type": "Exec", "command": "hx", "args": ["-c", "touch never"]})
s = connect(at); f = s.makefile("rwb"); f.write(b'{"type":"Hello","version":1}\n'); f.flush(); print(f.readline().decode())
s = connect("/run/carrel/host.sock"); f = s.makefile("rwb"); f.write(b'{"type":"Hello","version":1}\n{"type":"Exec","id":5,"command":"hx","args":["-c","read x; stty size; echo $x"],"tty":{"rows":7,"columns":70}}\n{"type":"Stdin","id":5,"data":"aGkK"}\n'); f.flush()
for line in f:
    m = json.loads(line); print(line.decode().strip())
    if m["type"] in ("Exit", "Error"): break
