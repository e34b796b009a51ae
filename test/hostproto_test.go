//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// workmuxGuest is a guest of workmux in Python, as the protocol's description has it; the
// address is a path or host:port.
const workmuxGuest = `
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
`

// TestHostProtocol: the dialects over the socket and, where rpc_host asks for it, TCP of
// the workspace's own network; the built-in commands are among what can be asked for.
func TestHostProtocol(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		w.hostCommands("- hx\nrpc_host: 127.0.0.1\n")
		w.write(w.project+"/guest.py", workmuxGuest+`
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
`)
		out := w.sh("python3 guest.py", "--network", "local")
		both := []string{`{"type": "Ok"}`, `{"data": "` + w.project + `\n", "type": "ExecOutput"}`, `{"data": "e\n", "type": "ExecError"}`, `{"code": 7, "type": "ExecExit"}`,
			`{"data": "\"rm\" is no host command\n", "type": "ExecError"}`, `{"code": 127, "type": "ExecExit"}`, "the link is kept for the person outside", `{"code": 4, "type": "ExecExit"}`,
			"SpawnAgent comes with worktrees", "Merge comes with worktrees", "Close comes with worktrees", "is not read from inside"}
		for _, want := range both {
			if strings.Count(out, want) < 2 {
				t.Errorf("not twice %q:\n%s", want, out)
			}
		}
		for _, want := range []string{"Invalid token", `"code":"unauthorised"`, `"commands":["hx"]`, `"type":"Started","id":5`, `"type":"Exit","id":5,"code":0`} {
			if !strings.Contains(out, want) {
				t.Errorf("without %q:\n%s", want, out)
			}
		}
		if exists(w.project+"/never") || !exists(w.project+"/made") {
			t.Error("what was made is not what was asked for")
		}
		s := w.stays("a", "--network", "local")
		s.sh("python3 guest.py >/dev/null")
		var told string
		for _, e := range s.events() {
			told += e.Kind + ": " + e.Text + "\n"
		}
		for _, want := range []string{"note: status: working\n", "note: title: tests\n", "host_exec: hx -c"} {
			if !strings.Contains(told, want) {
				t.Errorf("without %q:\n%s", want, told)
			}
		}
		s.end()
		// The port is the workspace's: the machine has none.
		if r := w.plain("python3", "-c", workmuxGuest+"\nconnect('127.0.0.1:7870')"); r.code == 0 {
			t.Error("the protocol is spoken outside")
		}
		w.hostCommands("- hx\nrpc_host: 192.0.2.1\n")
		if r := w.run("--network", "local", "--", "true"); r.code != 125 || !strings.Contains(r.err, "192.0.2.1 is not an address of this machine's own") {
			t.Errorf("elsewhere: %s", r)
		}
	})
}
