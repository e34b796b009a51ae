//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// configure adds to the user's configuration.
func (u *limaUser) configure(text string) {
	u.t.Helper()
	f, err := os.OpenFile(u.home+"/.config/carrel/config.yaml", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

// TestMachineSpeaksTheHostProtocol: over TCP the token is asked for, and over the socket of the
// machine it is not; what a host command changes is taken back with the run.
func TestMachineSpeaksTheHostProtocol(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	u.configure("host_commands: [touch, sh]\nrpc_host: 127.0.0.1\n")
	script := `say() { exec 3<>/dev/tcp/127.0.0.1/7870; printf '%s\n' "$@" >&3; read -r answer <&3; echo "$answer"; exec 3>&-; }
say "{\"token\":\"$WM_RPC_TOKEN\"}" '{"type":"Heartbeat"}'
say '{"token":"wrong"}' '{"type":"Heartbeat"}'
say '{"type":"Hello","version":1}'
touch outside; ls outside
echo given | sh -c 'cat; echo error >&2; kill -TERM $$'; echo "status $?"
(cd /; touch x) || echo elsewhere`
	out, err := u.carrel("run", "--backend", "lima", "--network", "local", "--", "bash", "-c", script)
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{`{"type":"Ok"`, "Invalid token", "the token is not that", "outside\n", "given\n", "error\n", "status 143\n", "elsewhere\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q: %s", want, out)
		}
	}
	if out, err := u.carrel("undo"); err != nil {
		t.Errorf("undo: %v: %s", err, out)
	}
	if _, err := os.Stat(u.project + "/outside"); !os.IsNotExist(err) {
		t.Errorf("after undo: %v", err)
	}
}

// TestMachinePublishes: a server in a machine is reached at the port of the host's loopback.
func TestMachinePublishes(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	script := `echo "from the machine" >page; python3 -m http.server --bind 127.0.0.1 3000 2>/dev/null & touch up
while [ ! -e stop ]; do sleep 0.1; done; kill $!`
	run := u.command(u.project, "run", "--backend", "lima", "--network", "local", "--publish", fmt.Sprintf("3000:%d", port), "--",
		"sh", "-c", script)
	var told strings.Builder
	run.Stdout, run.Stderr = &told, &told
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < u.patience(40*time.Second); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(u.project + "/up"); err == nil {
			break
		}
	}
	at := fmt.Sprintf("http://localhost:%d/page", port)
	got := ""
	for began := time.Now(); got != "from the machine\n" && time.Since(began) < u.patience(20*time.Second); time.Sleep(50 * time.Millisecond) {
		if r, err := (&http.Client{Timeout: 10 * time.Second}).Get(at); err == nil {
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			got = string(body)
		}
	}
	if got != "from the machine\n" {
		t.Errorf("it serves %q", got)
	}
	if err := os.WriteFile(u.project+"/stop", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("%v: %s", err, told.String())
	}
}
