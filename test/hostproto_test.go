//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// workmuxGuest is a guest of workmux in Python, as the protocol's description has it; the
// address is a path or host:port.
var workmuxGuest = program("hostproto/workmux_guest.py")

// TestHostProtocol: the dialects over the socket and, where rpc_host asks for it, TCP of
// the workspace's own network; the built-in commands are among what can be asked for.
func TestHostProtocol(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		w.hostCommands("- hx\nrpc_host: 127.0.0.1\n")
		w.write(w.project+"/guest.py", workmuxGuest+program("hostproto/guest.py"))
		out := w.sh("python3 guest.py", "--network", "local")
		both := []string{`{"type": "Ok"}`, `{"data": "` + w.project + `\n", "type": "ExecOutput"}`,
			`{"data": "e\n", "type": "ExecError"}`, `{"code": 7, "type": "ExecExit"}`,
			`{"data": "\"rm\" is no host command\n", "type": "ExecError"}`, `{"code": 127, "type": "ExecExit"}`, "the link is kept for the person outside", `{"code": 4, "type": "ExecExit"}`,
			"is not read from inside"}
		for _, want := range both {
			if strings.Count(out, want) < 2 {
				t.Errorf("not twice %q:\n%s", want, out)
			}
		}
		if n := strings.Count(out, "this workspace gives no tasks"); n < 6 {
			t.Errorf("tasks are refused %d times:\n%s", n, out)
		}
		for _, want := range []string{"Invalid token", `"code":"unauthorised"`, `"commands":["hx"]`, `"type":"Started","id":5`,
			`"type":"Exit","id":5,"code":0`} {
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
		if r := w.run("--network", "local", "--", "true"); r.code != 125 || !strings.Contains(r.err,
			"192.0.2.1 is not an address of this machine's own") {
			t.Errorf("elsewhere: %s", r)
		}
	})
}
