//go:build linux

package e2e

import (
	"encoding/json"
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

// TestHostPorts: a listed port of the host is reached inside by both families, a
// server that starts again as well, and no other port.
func TestHostPorts(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl")
		other := w.web(sayHere)
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		w.must(err)
		port := portOf(l)
		begin := func(l net.Listener) *http.Server {
			s := &http.Server{Handler: http.HandlerFunc(sayHere)}
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { s.Close() })
			return s
		}
		first := begin(l)
		for _, network := range []string{"local", "filtered"} {
			_, one := w.desk("--network", network, "--host-port", port, "--", "bash", "-c", "while sleep 0.1; do [ -e ask ] && { rm ask; "+
				"{ curl -sS --max-time 9 http://127.0.0.1:"+port+"/; curl -sS -g --max-time 9 http://[::1]:"+port+"/; curl -sS --max-time 9 http://localhost:"+other+"/; } > said.new 2>/dev/null; mv said.new said; }; done")
			fetch := func() string {
				w.write(w.project+"/ask", "")
				eventually(t, "an answer", func() bool { return exists(w.project + "/said") })
				said := w.read(w.project + "/said")
				w.must(os.Remove(w.project + "/said"))
				return said
			}
			if got := fetch(); got != "herehere" {
				t.Errorf("%s: %q", network, got)
			}
			first.Close()
			if got := fetch(); got != "" {
				t.Errorf("%s: no server, and %q", network, got)
			}
			l, err = net.Listen("tcp4", "127.0.0.1:"+port)
			w.must(err)
			first = begin(l)
			if got := fetch(); got != "herehere" {
				t.Errorf("%s: after a restart: %q", network, got)
			}
			w.plain(w.bin, "stop", one.ID)
		}
		log := w.connections()
		if len(log) != 12 || log[0].Protocol != "host-port" || log[0].Decision != "allowed" || log[2].Decision != "failed" || log[0].Rule != "host port "+port {
			t.Errorf("the log: %+v", log)
		}
	})
}

// freePort is one that nobody has at this moment.
func (w *world) freePort() string {
	w.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	w.must(err)
	defer l.Close()
	return portOf(l)
}

// TestPublish: a server inside, on either family, is reached outside by its own
// user, under the names of this machine alone, and not after the run.
func TestPublish(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("curl", "python3")
		w.write(w.project+"/index.html", "inside")
		for _, at := range []string{"127.0.0.1", "::1"} {
			port := w.freePort()
			cmd, one := w.desk("--publish", "3000:"+port, "--", "bash", "-c", "exec python3 -m http.server 3000 --bind "+at+" >/dev/null 2>&1")
			get := func(args ...string) string {
				r := w.plain("curl", append([]string{"-sS", "--max-time", "20", "-w", " %{http_code}", "http://localhost:" + port + "/"}, args...)...)
				return r.out
			}
			eventually(t, "the server inside", func() bool { return get() == "inside 200" })
			for _, host := range []string{"127.0.0.1:" + port, "[::1]:" + port, "localhost"} {
				if got := get("-H", "Host: "+host); got != "inside 200" {
					t.Errorf("as %s: %q", host, got)
				}
			}
			for _, host := range []string{"evil.example", "192.168.0.1:" + port, "localhost.evil.example"} {
				if got := get("-H", "Host: "+host); !strings.HasSuffix(got, " 403") || !strings.Contains(got, "hint: open http://localhost:"+port) {
					t.Errorf("as %s: %q", host, got)
				}
			}
			w.strangerIsRefused(port)
			if st := w.status(one.ID); len(st.Published) != 1 || st.Published[0].Inside != 3000 || strconv.Itoa(st.Published[0].Host) != port {
				t.Errorf("ps says %+v", st)
			}
			w.plain(w.bin, "stop", one.ID)
			_ = cmd.Wait()
			if got := get(); got != " 000" {
				t.Errorf("after the run: %q", got)
			}
		}
	})
}

// strangerIsRefused tries a published port as another user, where that can be done.
func (w *world) strangerIsRefused(port string) {
	w.t.Helper()
	if os.Getuid() != 0 || w.who.uid == 0 {
		return // root may come in anywhere, and nobody else can become somebody else
	}
	cmd := w.command("curl", "-sS", "--max-time", "20", "http://localhost:"+port+"/")
	cmd.Dir = "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	if r := w.finish(cmd); r.code == 0 || r.out != "" {
		w.t.Errorf("another user: %s", r)
	}
}

// publishedStatus is what carrel ps says of a workspace's ports.
type publishedStatus struct {
	ID        string
	Published []struct{ Inside, Host int }
}

func (w *world) status(id string) publishedStatus {
	w.t.Helper()
	var list []publishedStatus
	w.must(json.Unmarshal([]byte(w.plain(w.bin, "ps", "--json").out), &list))
	for _, one := range list {
		if one.ID == id {
			return one
		}
	}
	w.t.Fatalf("%s is not in %+v", id, list)
	return publishedStatus{}
}

// TestPublishTakenPort: said before anything is started.
func TestPublishTakenPort(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
			l, err := net.Listen("tcp", at)
			w.must(err)
			r := w.run("--publish", "3000:"+portOf(l), "--", "touch", "started")
			l.Close()
			if r.code != 125 || !strings.Contains(r.err, "port "+portOf(l)+" of the host") || !strings.Contains(r.err, "hint: ") || exists(w.project+"/started") {
				t.Errorf("%s: %s", at, r)
			}
		}
		if r := w.run("--network", "closed", "--publish", "3000", "--", "true"); r.code != 125 {
			t.Errorf("closed: %s", r)
		}
	})
}

// TestGrantedSockets: exactly the named socket is there, under the name that was
// given; its neighbours, directories and what is no socket are not.
func TestGrantedSockets(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		dir := w.hostTemp()
		for _, name := range []string{"named.sock", "neighbour.sock"} {
			w.listen("unix", dir+"/"+name)
			w.must(os.Lchown(dir+"/"+name, p.uid, p.gid))
		}
		w.symlink("named.sock", dir+"/link.sock")
		w.listen("unix", w.home+"/own.sock")
		w.must(os.Lchown(w.home+"/own.sock", p.uid, p.gid))
		flags := []string{"--unix-socket", dir + "/named.sock", "--unix-socket", dir + "/link.sock", "--unix-socket", w.home + "/own.sock"}
		for _, network := range []string{"closed", "open"} {
			got := w.attack(append(flags, "--network", network), "connect", dir+"/named.sock", "--", "connect", dir+"/link.sock", "--", "connect", w.home+"/own.sock", "--", "connect", dir+"/neighbour.sock")
			if want := strings.Repeat("ok "+greeting+"\n", 3) + "ENOENT"; got != want {
				t.Errorf("%s: %q, want %q", network, got, want)
			}
		}
		if r := w.run(append(flags, "--", "true")...); strings.Count(r.err, "is granted") != 2 {
			t.Errorf("said: %s", r.err)
		}
		w.write(w.outside+"/file", "x")
		for path, why := range map[string]string{dir: "no socket", w.outside + "/file": "no socket", dir + "/nothing": "does not exist"} {
			if r := w.run("--unix-socket", path, "--", "true"); r.code != 125 || !strings.Contains(r.err, why) {
				t.Errorf("%s: %s", path, r)
			}
		}
		if os.Getuid() == 0 && p.uid != 0 {
			w.listen("unix", dir+"/foreign.sock")
			w.must(os.Lchown(dir+"/foreign.sock", 65534, 65534))
			if r := w.run("--unix-socket", dir+"/foreign.sock", "--", "true"); r.code != 125 || !strings.Contains(r.err, "another user") {
				t.Errorf("another user's: %s", r)
			}
		}
	})
}

// TestEngineSockets: by the user's own configuration alone, through a link too.
func TestEngineSockets(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		engine := w.outside + "/docker.sock"
		w.listen("unix", engine)
		w.must(os.Lchown(engine, p.uid, p.gid))
		w.symlink(engine, w.outside+"/harmless.sock")
		for _, path := range []string{engine, w.outside + "/harmless.sock"} {
			if r := w.run("--unix-socket", path, "--", "true"); r.code != 125 || !strings.Contains(r.err, "your own configuration") {
				t.Errorf("%s by a flag: %s", path, r)
			}
		}
		w.write(filepath.Join(w.home, ".config/carrel/config.yaml"), "network: {unix_sockets: ['"+engine+"']}\n")
		if got := w.attack(nil, "connect", engine); got != "ok "+greeting {
			t.Errorf("by the configuration: %q", got)
		}
		if r := w.run("--", "true"); !strings.Contains(r.err, "can do all that you can") {
			t.Errorf("said: %s", r.err)
		}
	})
}

// TestOpenSaysWhatIsExposed at its start.
func TestOpenSaysWhatIsExposed(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		if r := w.run("--network", "open", "--", "grep", "-c", "nameserver", "/etc/resolv.conf"); !strings.Contains(r.err, "network open: the host's network is shared, its services on localhost") {
			t.Errorf("%s", r)
		}
	})
}

// TestManyConnections: two hundred at once come through, and are all logged.
func TestManyConnections(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		port := w.web(func(out http.ResponseWriter, r *http.Request) {
			time.Sleep(50 * time.Millisecond)
			sayHere(out, r)
		})
		w.write(w.project+"/many.py", program("network_ports/many.py"))
		if out := w.sh("python3 many.py "+port, "--allow-host", "127.0.0.1:"+port); out != "200\n" {
			t.Errorf("came through: %q", out)
		}
		if log := w.connections(); len(log) != 200 {
			t.Errorf("%d logged", len(log))
		}
	})
}
