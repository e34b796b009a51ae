//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// web starts an HTTP server on the host's loopback and gives its port.
func (w *world) web(serve http.HandlerFunc) string {
	w.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	w.must(err)
	s := &http.Server{Handler: serve}
	go func() { _ = s.Serve(l) }()
	w.t.Cleanup(func() { s.Close() })
	return portOf(l)
}

func portOf(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

func sayHere(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "here") }

// connection is a line of the network's log.
type connection struct {
	Workspace, Process, Protocol, Host, Decision, Code, Rule, Source, Reason string
	Port                                                                     int
	Sent, Received                                                           int64
}

func (w *world) connections(args ...string) []connection {
	w.t.Helper()
	r := w.plain(w.bin, append([]string{"net", "log", "--json"}, args...)...)
	var list []connection
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || r.code != 0 {
		w.t.Fatalf("net log: %v\n%s", err, r)
	}
	return list
}

// viaProxy is curl that sends even the loopback to the proxy.
const viaProxy = "curl -sS --max-time 20 --noproxy '' "

// TestFilteredReachesWhatIsListed: by the proxy's variables, and nothing else: not
// another port, not past the proxy; each attempt is logged with who made it, each
// refusal says why and is a denial.
func TestFilteredReachesWhatIsListed(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		listed, other := w.web(func(out http.ResponseWriter, r *http.Request) {
			time.Sleep(200 * time.Millisecond) // whose a connection is, is found while it lasts
			sayHere(out, r)
		}), w.web(sayHere)
		r := w.run("--allow-host", "127.0.0.1:"+listed, "--", "bash", "-c", viaProxy+"http://127.0.0.1:"+listed+"/; echo; "+
			viaProxy+"-i http://127.0.0.1:"+other+"/; "+
			"curl -sS --max-time 20 --noproxy '*' http://127.0.0.1:"+listed+"/ 2>&1; "+
			"curl -sS --max-time 20 --noproxy '*' http://nowhere.example/ 2>&1; "+
			"curl -sS --max-time 20 https://nowhere.example/ 2>&1; true")
		for _, want := range []string{"here\n", "HTTP/1.1 403 ", "X-Carrel-Denied: special", "\nhint: ", "Failed to connect to 127.0.0.1", "Could not resolve host", "response 403"} {
			_, after, ok := strings.Cut(r.out, want)
			if !ok {
				t.Fatalf("no %q in turn: %s", want, r)
			}
			r.out = after
		}
		if !strings.Contains(r.err, "3 denials") || !strings.Contains(r.err, "127.0.0.1:"+other+" was not reached") {
			t.Errorf("the summary: %s", r.err)
		}
		log := w.connections()
		if len(log) != 4 {
			t.Fatalf("the log: %+v", log)
		}
		if c := log[0]; c.Decision != "allowed" || c.Protocol != "http" || c.Process != "curl" || c.Host != "127.0.0.1" || strconv.Itoa(c.Port) != listed || c.Source != "--allow-host" || c.Received == 0 {
			t.Errorf("logged as %+v", c)
		}
		for i, want := range []string{"special", "not_listed", "not_listed"} {
			if c := log[i+1]; c.Decision != "refused" || c.Code != want || c.Reason == "" {
				t.Errorf("logged as %+v, want %s", c, want)
			}
		}
		if out := w.plain(w.bin, "denials").out; strings.Count(out, "what  ") != 3 || !strings.Contains(out, "--allow-host nowhere.example:443") {
			t.Errorf("the denials: %s", out)
		}
	})
}

// TestFilteredHasNoOtherWay: addresses that nobody gave out lead nowhere, at once.
func TestFilteredHasNoOtherWay(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		script := "for at in 192.0.2.1/443 8.8.8.8/53 198.18.9.9/443 198.18.0.1/80 127.0.0.1/22 2001:db8::1/443; do " +
			"for how in tcp udp; do timeout 5 bash -c \"echo x >/dev/$how/$at && echo x >/dev/$how/$at\" 2>/dev/null; echo $how $at $?; done; done; " +
			"cat /etc/resolv.conf; ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :"
		out := w.sh(script, "--allow-host", "192.0.2.1", "--allow-host", "a.example")
		for _, at := range []string{"192.0.2.1/443", "8.8.8.8/53", "198.18.9.9/443", "198.18.0.1/80", "127.0.0.1/22", "2001:db8::1/443"} {
			if !strings.Contains(out, "tcp "+at+" 1\n") {
				t.Errorf("tcp %s: %s", at, out)
			}
		}
		for _, at := range []string{"192.0.2.1/443", "8.8.8.8/53", "2001:db8::1/443"} {
			if !strings.Contains(out, "udp "+at+" 1\n") {
				t.Errorf("udp %s: %s", at, out)
			}
		}
		if !strings.Contains(out, "nameserver 198.18.0.1\n") {
			t.Errorf("names: %s", out)
		}
	})
}

// TestFilteredEndsWithTheRun: the far side of an open stream sees the end when the
// workspace ends, however that is.
func TestFilteredEndsWithTheRun(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, how := range []string{"stop", "kill"} {
			w := newWorld(t, p)
			w.need("curl")
			began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
			port := w.web(func(out http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(out, "first")
				out.(http.Flusher).Flush()
				began <- struct{}{}
				<-r.Context().Done()
				ended <- struct{}{}
			})
			cmd, one := w.desk("--allow-host", "127.0.0.1:"+port, "--", "bash", "-c", viaProxy+"-N http://127.0.0.1:"+port+"/")
			await(t, began, "the stream")
			if how == "stop" {
				w.plain(w.bin, "stop", one.ID)
			} else {
				w.must(cmd.Process.Signal(syscall.SIGKILL))
			}
			await(t, ended, "the end of the stream after "+how)
			_ = cmd.Wait()
			if how == "kill" {
				w.plain(w.bin, "ps") // sweeps what it left
			}
		}
	})
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
}

// TestHostsWhileItRuns: a person at a terminal opens a host, within the ceiling,
// and may write it down; anybody closes it again; nobody else opens any.
func TestHostsWhileItRuns(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		w.litter = true // the configuration that is written
		port := w.web(sayHere)
		ceiling := w.write(w.outside+"/ceiling.yaml", "network: {mode: filtered, allow_hosts: ['127.0.0.1', a.example]}\n")
		_, one := w.desk("--permissions", ceiling, "--network", "filtered", "--", "bash", "-c", "while sleep 0.1; do [ -e ask ] && { rm ask; "+viaProxy+"-o /dev/null -w '%{http_code}\\n' http://127.0.0.1:"+port+"/ > said.new; mv said.new said; }; done")
		fetch := func() string {
			w.write(w.project+"/ask", "")
			eventually(t, "an answer", func() bool { return exists(w.project + "/said") })
			said := strings.TrimSpace(w.read(w.project + "/said"))
			w.must(os.Remove(w.project + "/said"))
			return said
		}
		if got := fetch(); got != "403" {
			t.Fatalf("nothing is listed: %s", got)
		}
		rule := "127.0.0.1:" + port
		if r := w.plain(w.bin, "net", "allow", rule); r.code != 125 || !strings.Contains(r.err, "no controlling terminal") {
			t.Errorf("without a person: %s", r)
		}
		if r := w.plain(w.bin, "net", "allow", "b.example", one.ID); r.code != 125 {
			t.Errorf("without a person: %s", r)
		}
		atTerminal := func(typed string, args ...string) string {
			tm := w.openTerminal(w.command(w.bin, args...))
			tm.expect("leave it: ")
			tm.send(typed + "\n")
			tm.wait()
			return tm.all()
		}
		if out := atTerminal("yes", "net", "allow", rule); !strings.Contains(out, "not the id") || fetch() != "403" {
			t.Errorf("something else typed: %s", out)
		}
		if out := atTerminal(one.ID, "net", "allow", "b.example", one.ID); !strings.Contains(out, "ceiling") {
			t.Errorf("over the ceiling: %s", out)
		}
		if out := atTerminal(one.ID, "net", "allow", rule, "--save"); !strings.Contains(out, "as long as it runs") || fetch() != "200" {
			t.Errorf("allowed: %s", out)
		}
		if got := w.read(w.home + "/.config/carrel/config.yaml"); !strings.Contains(got, rule) {
			t.Errorf("the configuration: %s", got)
		}
		if r := w.plain(w.bin, "net", "deny", "127.0.0.0/8"); r.code != 0 || fetch() != "403" {
			t.Errorf("denied: %s", r)
		}
		if out := atTerminal(one.ID, "net", "allow", rule); !strings.Contains(out, "is denied by the rule") || fetch() != "403" {
			t.Errorf("allowed after it was denied: %s", out)
		}
		w.plain(w.bin, "stop", one.ID)
	})
}

// TestUnknownHostsAreAsked: the connection waits for a person's word; what is
// special or denied is never asked.
func TestUnknownHostsAreAsked(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		cmd := w.command(w.bin, "run", "--network", "filtered", "--on-unknown", "ask", "--deny-host", "evil.example", "--", "bash", "-c",
			"for at in 127.0.0.1:1 10.0.0.1:80 evil.example:443 ask.example:1; do curl -sS --max-time 60 --noproxy '' https://$at/ 2>&1 | tail -c 4; curl -sS --max-time 60 --noproxy '' https://$at/ 2>&1 | tail -c 4; done")
		var out strings.Builder
		cmd.Stdout = &out
		w.must(cmd.Start())
		var waiting []struct{ ID, Subject, Operation string }
		eventually(t, "a question", func() bool {
			r := w.plain(w.bin, "approvals", "--json")
			return json.Unmarshal([]byte(r.out), &waiting) == nil && len(waiting) > 0
		})
		if one := waiting[0]; len(waiting) != 1 || one.Operation != "connect" || one.Subject != "ask.example:1" {
			t.Errorf("asked: %+v", waiting)
		}
		if r := w.plain(w.bin, "deny", waiting[0].ID); r.code != 0 {
			t.Errorf("deny: %s", r)
		}
		_ = cmd.Wait() // the second time it is not asked
		if got := strings.Join(strings.Fields(out.String()), " "); got != strings.TrimSpace(strings.Repeat("403 ", 8)) {
			t.Errorf("inside: %q", out.String())
		}
	})
}

// TestApprovedHosts: once is once, project and always go into the configuration. The host
// has no address here: what was allowed fails later, and differently.
func TestApprovedHosts(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, scope := range []string{"--always", "--project"} {
			approvedHost(t, p, scope)
		}
	})
}

func approvedHost(t *testing.T, p person, scope string) {
	w := newWorld(t, p)
	w.need("curl")
	w.litter = true // the configuration that is written
	cmd := w.command(w.bin, "run", "--network", "filtered", "--on-unknown", "ask", "--", "bash", "-c",
		"for i in 1 2 3; do curl -sS --max-time 60 https://ask.invalid-name.example:1/ 2>&1 | tail -c 4; done")
	var out strings.Builder
	cmd.Stdout = &out
	w.must(cmd.Start())
	answer := func(flags ...string) {
		var waiting []struct{ ID string }
		eventually(t, "a question", func() bool {
			r := w.plain(w.bin, "approvals", "--json")
			return json.Unmarshal([]byte(r.out), &waiting) == nil && len(waiting) == 1
		})
		tm := w.openTerminal(w.command(w.bin, append([]string{"approve", waiting[0].ID}, flags...)...))
		tm.expect("leave it: ")
		tm.send(waiting[0].ID + "\n")
		if code := tm.wait(); code != 0 {
			t.Errorf("approve %q: %s", flags, tm.all())
		}
	}
	answer()
	answer(scope) // the third time no one is asked
	_ = cmd.Wait()
	for _, code := range strings.Fields(out.String()) {
		if code != "502" && code != "504" {
			t.Errorf("inside: %q", out.String())
		}
	}
	got := w.read(w.home + "/.config/carrel/config.yaml")
	if !strings.Contains(got, "ask.invalid-name.example:1") || strings.Contains(got, w.project) != (scope == "--project") {
		t.Errorf("the configuration with %s: %s", scope, got)
	}
}

// TestConnectInside: a pair of pipes is joined with what is listed; a refusal is
// told in words; outside there is no proxy.
func TestConnectInside(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		w.must(err)
		t.Cleanup(func() { l.Close() })
		go eachConn(l, func(c net.Conn) {
			all, _ := io.ReadAll(c)
			fmt.Fprintf(c, "you said %s", all)
		})
		out := w.sh("printf hello | carrel connect 127.0.0.1 "+portOf(l)+"; carrel connect 127.0.0.1 1 2>&1 </dev/null; echo \" status $?\"", "--allow-host", "127.0.0.1:"+portOf(l))
		if !strings.HasPrefix(out, "you said hello") || !strings.Contains(out, "127.0.0.1 is not reachable from here") || !strings.HasSuffix(out, " status 125\n") {
			t.Errorf("inside: %q", out)
		}
		if r := w.plain(w.bin, "connect", "127.0.0.1", portOf(l)); r.code != 125 || !strings.Contains(r.err, "filtered network only") {
			t.Errorf("outside: %s", r)
		}
	})
}

// TestProxyVariables: programs find the proxy, and what the user names stays the
// user's; in other modes there is none.
func TestProxyVariables(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setenv("HTTP_PROXY", "http://outside.example:1")
		w.setenv("npm_config_proxy", "http://outside.example:2")
		w.setenv("WSS_PROXY", "http://outside.example:3")
		out := w.sh("env", "--network", "filtered", "--env", "YARN_HTTP_PROXY=mine", "--env", "WSS_PROXY")
		for _, want := range []string{"HTTP_PROXY=http://198.18.0.1:3128", "https_proxy=http://198.18.0.1:3128", "ALL_PROXY=http://198.18.0.1:3128",
			"npm_config_proxy=http://198.18.0.1:3128", "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
			"YARN_HTTP_PROXY=mine", "WSS_PROXY=http://outside.example:3"} {
			if !strings.Contains("\n"+out, "\n"+want+"\n") {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
		if out := w.sh("env | grep -i proxy || true", "--network", "local"); strings.Contains(out, "198.18") {
			t.Errorf("local: %s", out)
		}
	})
}

// TestHostProxyIsSaid: going through the host's own proxy is said, and refused
// under a ceiling.
func TestHostProxyIsSaid(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		asked := make(chan struct{}, 10)
		port := w.web(func(out http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodConnect && r.Host == "a.example:443" {
				asked <- struct{}{}
			}
			out.WriteHeader(http.StatusTeapot)
		})
		w.setenv("HTTPS_PROXY", "http://127.0.0.1:"+port)
		r := w.run("--allow-host", "a.example", "--", "bash", "-c", "curl -sS --max-time 20 https://a.example/; true")
		if !strings.Contains(r.err, "goes through the host's proxy 127.0.0.1") || len(asked) != 1 {
			t.Errorf("asked %d times: %s", len(asked), r)
		}
		ceiling := w.write(filepath.Join(w.outside, "ceiling.yaml"), "network: filtered\n")
		if r := w.run("--permissions", ceiling, "--network", "filtered", "--", "true"); r.code != 125 || !strings.Contains(r.err, "HTTPS_PROXY") {
			t.Errorf("under a ceiling: %s", r)
		}
	})
}
