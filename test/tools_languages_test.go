//go:build linux

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tarball writes an npm package archive.
func (w *world) tarball(path string, files map[string]string) {
	w.t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	a := tar.NewWriter(z)
	for name, content := range files {
		w.must(a.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		_, err := a.Write([]byte(content))
		w.must(err)
	}
	w.must(a.Close())
	w.must(z.Close())
	w.write(path, buf.String())
}

// npmPackage is a package with a program in it.
func (w *world) npmPackage(path string) {
	w.t.Helper()
	w.tarball(path, map[string]string{
		"package.json": `{"name":"desk-greeting","version":"1.0.0","main":"index.js","bin":{"desk-greet":"cli.js"},"scripts":{"postinstall":"node -e \"require('fs').writeFileSync('built','yes')\""}}`,
		"index.js":     "module.exports = () => 'greetings from ' + require('fs').readFileSync(__dirname + '/built', 'utf8')\n",
		"cli.js":       "#!/usr/bin/env node\nconsole.log(require('./index.js')())\n",
	})
}

func TestNode(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("node", "npm")
		w.write(w.project+"/hello.js", "const os = require('os'); console.log('hello', os.userInfo().uid, os.homedir() === process.env.HOME, os.cpus().length > 0)\n")
		if out := w.sh("node hello.js"); out != "hello "+strconv.Itoa(p.uid)+" true true\n" {
			t.Errorf("a script: %q", out)
		}
		w.npmPackage(w.project + "/greeting.tgz")
		w.write(w.project+"/package.json", `{"name":"desk","version":"1.0.0","scripts":{"test":"desk-greet"}}`)
		out := w.sh("npm install --no-audit --no-fund --offline --foreground-scripts=false ./greeting.tgz >/dev/null && npm test --silent && npx --no-install desk-greet")
		if out != "greetings from yes\ngreetings from yes\n" {
			t.Errorf("npm install: %q", out)
		}
		// A global install goes to a prefix of the workspace, is found through
		// PATH in the next run too, and is not seen by the host.
		w.sh("npm install -g --no-audit --no-fund --offline ./greeting.tgz >/dev/null && desk-greet")
		if out := w.sh("desk-greet"); out != "greetings from yes\n" {
			t.Errorf("npm -g in the next run: %q", out)
		}
		if r := w.plain("bash", "-c", "command -v desk-greet"); r.code == 0 {
			t.Errorf("npm -g reached the host: %s", r)
		}
	})
}

// wheel writes a Python package that installs without building anything.
func (w *world) wheel(dir string) string {
	w.t.Helper()
	files := [][2]string{
		{"desk_greeting/__init__.py", "def main():\n    print('greetings')\n"},
		{"desk_greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: desk-greeting\nVersion: 1.0\n"},
		{"desk_greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"desk_greeting-1.0.dist-info/entry_points.txt", "[console_scripts]\ndesk-hail = desk_greeting:main\n"},
	}
	var record strings.Builder
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	add := func(name, content string) {
		f, err := z.Create(name)
		w.must(err)
		_, err = f.Write([]byte(content))
		w.must(err)
	}
	for _, f := range files {
		add(f[0], f[1])
		sum := sha256.Sum256([]byte(f[1]))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f[0], base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
	}
	record.WriteString("desk_greeting-1.0.dist-info/RECORD,,\n")
	add("desk_greeting-1.0.dist-info/RECORD", record.String())
	w.must(z.Close())
	return w.write(dir+"/desk_greeting-1.0-py3-none-any.whl", buf.String())
}

func TestPython(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		if out := w.sh(`python3 -c 'import tempfile, multiprocessing as m, socket, sqlite3, ssl; tempfile.mkstemp(); m.Lock(); socket.socketpair(); sqlite3.connect("x.db").execute("create table t(a)"); print("fine")'`); out != "fine\n" {
			t.Errorf("the standard library: %q", out)
		}
		w.write(w.project+"/aio.py", program("tools_languages/aio.py"))
		if out := w.sh("python3 aio.py"); out != "child\nthread\n" {
			t.Errorf("asyncio: %q", out)
		}
		if out := w.sh(`python3 -c 'import multiprocessing as m
def f(x): return x*x
if __name__=="__main__": print(sum(m.Pool(2).map(f, range(4))))'`); out != "14\n" {
			t.Errorf("multiprocessing: %q", out)
		}
		wheel := w.wheel(w.project)
		if out := w.sh("python3 -m venv v && v/bin/pip install -q --no-index " + wheel + " 2>/dev/null && v/bin/desk-hail && . v/bin/activate && desk-hail"); out != "greetings\ngreetings\n" {
			t.Errorf("a virtual environment: %q", out)
		}
		w.sh("python3 -m pip install -q --user --no-index --no-deps --break-system-packages " + wheel + " 2>/dev/null && desk-hail")
		if out := w.sh("desk-hail && python3 -c 'import desk_greeting'"); out != "greetings\n" {
			t.Errorf("pip --user in the next run: %q", out)
		}
		if r := w.plain("bash", "-c", "command -v desk-hail || python3 -c 'import desk_greeting'"); r.code == 0 {
			t.Errorf("pip --user reached the host: %s", r)
		}
	})
}

// TestActivatedEnvironment: a virtual environment that is active outside is
// active inside.
func TestActivatedEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("python3")
	wheel := w.wheel(w.outside)
	w.outsideSh("python3 -m venv v && v/bin/pip install -q --no-index " + wheel)
	w.setenv("VIRTUAL_ENV", w.project+"/v")
	w.setenv("PATH", w.project+"/v/bin:/usr/bin:/bin")
	for _, argv := range [][]string{
		{"python", "-c", "import sys, desk_greeting; print(sys.prefix)"}, {"python3", "-c", "import sys, desk_greeting; print(sys.prefix)"},
		{"sh", "-c", "desk-hail >/dev/null && python -c 'import sys; print(sys.prefix)'"},
	} {
		if r := w.run(append([]string{"--"}, argv...)...); r.out != w.project+"/v\n" {
			t.Errorf("%q: %s", argv, r)
		}
	}
	if r := w.run("--", "desk-hail"); r.out != "greetings\n" {
		t.Errorf("a program of the environment: %s", r)
	}
}

// TestGo runs for one person only: it compiles the standard library.
func TestGo(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("finding Go: %v", err)
	}
	root := strings.TrimSpace(string(out))
	w := newWorld(t, ordinary(t))
	w.setenv("PATH", root+"/bin:/usr/bin:/bin")
	look := w.command("go", "version")
	look.Env = append(look.Environ(), "HOME="+w.outside)
	if look.Run() != nil { // a Go that only root can read
		w = newWorld(t, people()[0])
		w.setenv("PATH", root+"/bin:/usr/bin:/bin")
	}
	w.setenv("GOFLAGS", "-mod=mod")
	w.setenv("GOTOOLCHAIN", "local")
	w.write(w.project+"/go.mod", "module desk\n\ngo 1.21\n")
	w.write(w.project+"/main.go", program("tools_languages/main.go"))
	w.write(w.project+"/main_test.go", program("tools_languages/main_test.go"))
	flags := []string{"--env", "GOTOOLCHAIN", "--env", "GOFLAGS", "--read", root}
	got := w.sh("CGO_ENABLED=0 go build -o desk . && ./desk && CGO_ENABLED=0 go vet . && CGO_ENABLED=0 go install . && desk", flags...)
	if got != "built 2\nbuilt 2\n" {
		t.Errorf("go build: %q", got)
	}
	if got := w.sh("CGO_ENABLED=0 go test . | cut -f1-2; desk", flags...); got != "ok  \tdesk\nbuilt 2\n" {
		t.Errorf("go test with the cache of the run before: %q", got)
	}
	if _, err := os.Lstat(w.home + "/go/bin/desk"); err == nil {
		t.Error("go install reached the host")
	}
}

func TestMakeAndCompiler(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("make", "gcc")
	w.write(w.project+"/Makefile", "all: out.txt\nout.txt: in.txt\n\ttr a-z A-Z < in.txt > out.txt\n")
	w.write(w.project+"/in.txt", "made\n")
	if out := w.sh("make -s -j4 && cat out.txt && make -q && echo current"); out != "MADE\ncurrent\n" {
		t.Errorf("make: %q", out)
	}
	w.write(w.project+"/x.c", program("tools_languages/x.c"))
	if out := w.sh("gcc -pthread -o x x.c && ./x && cp x /tmp/x && /tmp/x"); out != "compiled\ncompiled\n" {
		t.Errorf("gcc: %q", out)
	}
}

// TestDebuggers: ptrace among the workspace's own processes works.
func TestDebuggers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("strace", "gdb")
	for tool, script := range map[string]string{
		"strace": "strace -f -o trace sh -c true && grep -q execve trace && echo traced",
		"gdb":    "gdb -batch -ex run -ex 'print 1+1' --args /bin/true 2>/dev/null | grep -q '= 2' && echo traced",
	} {
		for _, nested := range nestings {
			if out := w.sh(script, "--nested", nested); out != "traced\n" {
				t.Errorf("%s at level %s: %q", tool, nested, out)
			}
		}
	}
}

// TestSystemFiles: certificates, time zone, languages, names.
func TestSystemFiles(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		if _, err := os.Stat("/etc/ssl/certs/ca-certificates.crt"); err == nil {
			if out := w.sh("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt; cat /etc/ssl/certs/*.pem 2>/dev/null | grep -c BEGIN"); strings.HasPrefix(out, "0\n") || strings.HasSuffix(out, "\n0\n") {
				t.Errorf("certificates: %q", out)
			}
		}
		for name, script := range map[string]string{
			"time": "date +%Z%z", "time zone": "TZ=America/New_York date +%Z", "languages": "locale 2>&1", "host name": "uname -n", "local name": "getent hosts localhost", "services": "getent services http", "protocols": "getent protocols tcp",
			"time zone file": "cat /etc/timezone /etc/localtime | md5sum", "release": "cat /etc/os-release", "terminal": "infocmp xterm | head -3", "shells": "ls /bin/sh /usr/bin/env /bin/bash", "machine": "nproc", "sort order": "printf 'b\\na\\nB\\n' | sort", "limits": "getconf ARG_MAX",
		} {
			plain, inside := w.plain("bash", "-c", script), w.run("--", "bash", "-c", script)
			if plain.out != inside.out {
				t.Errorf("%s: outside %q, inside %q", name, plain.out, inside.out)
			}
		}
		certs := w.write(w.outside+"/corporate.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
		w.setenv("NODE_EXTRA_CA_CERTS", certs)
		if out := w.sh("cat $NODE_EXTRA_CA_CERTS | head -1"); out != "-----BEGIN CERTIFICATE-----\n" {
			t.Errorf("certificates named by a variable: %q", out)
		}
		w.write(certs, "-----BEGIN PRIVATE KEY-----\n")
		if r := w.run("--", "cat", certs); r.code == 0 {
			t.Errorf("a private key named by a certificate variable: %s", r)
		}
	})
}

// TestNames: an open network resolves what the host resolves.
func TestNames(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		name := "localhost"
		if hosts, err := os.ReadFile("/etc/hosts"); err == nil {
			for line := range strings.Lines(string(hosts)) {
				if f := strings.Fields(line); len(f) > 1 && f[0][0] != '#' && f[1] != "localhost" && net.ParseIP(f[0]) != nil && net.ParseIP(f[0]).To4() != nil {
					name = f[1]
				}
			}
		}
		script := "getent ahostsv4 " + name + " | head -1; python3 -c 'import socket; print(socket.gethostbyname(\"" + name + "\"))'; cat /etc/resolv.conf"
		if plain, inside := w.outsideSh(script), w.sh(script, "--network", "open"); plain != inside {
			t.Errorf("%s: outside %q, inside %q", name, plain, inside)
		}
	})
}

// TestLocalNetwork: servers and clients on a loopback of the workspace's own.
func TestLocalNetwork(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3", "curl")
		w.write(w.project+"/index.html", "served")
		if out := w.sh("python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & for i in $(seq 100); do curl -s http://127.0.0.1:8000/index.html && break; sleep 0.05; done; curl -s http://localhost:8000/index.html; kill %1", "--network", "local"); out != "servedserved" {
			t.Errorf("http.server: %q", out)
		}
		w.write(w.project+"/aio.py", program("tools_languages/aio_servers.py"))
		if out := w.sh("python3 aio.py", "--network", "local"); out != "ping 127.0.0.1\nping ::1\nping localhost\n" {
			t.Errorf("asyncio: %q", out)
		}
		if strings.Contains(w.find("node"), "/") {
			w.write(w.project+"/net.js", "const n=require('net'); const s=n.createServer(c=>c.end('pong')).listen(0,'127.0.0.1',()=>n.connect(s.address().port,'127.0.0.1').on('data',d=>console.log(d.toString())).on('end',()=>s.close()))\n")
			if out := w.sh("node net.js", "--network", "local"); out != "pong\n" {
				t.Errorf("node: %q", out)
			}
		}
		// The loopback is the workspace's own, and the only way.
		if out := w.sh("ls /proc/sys/net/ipv4/conf | grep -vE 'all|default'; awk 'NR>1' /proc/net/route | wc -l", "--network", "local"); out != "lo\n0\n" {
			t.Errorf("interfaces and routes of local: %q", out)
		}
		if out := w.sh("cat /proc/net/if_inet6 /proc/net/fib_trie | wc -l; awk 'NR>1' /proc/net/route | wc -l; curl -s -m 1 http://127.0.0.1:1/; echo $?", "--network", "closed"); out != "0\n0\n7\n" {
			t.Errorf("closed has something: %q", out)
		}
	})
}

// TestVersionManagers: shims and toolchains in home run at their own paths.
func TestVersionManagers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	tools := map[string]string{ // program: what makes it visible
		".nvm/versions/node/v20.0.0/bin/node20": "nvm", ".pyenv/shims/py3": "pyenv", ".asdf/shims/erl": "asdf", ".cargo/bin/rustc2": "cargo", ".rustup/toolchains/stable/bin/rustc3": "rustup",
		".volta/bin/volta1": "volta", "go/bin/gotool": "go", ".bun/bin/bun1": "bun", ".deno/bin/deno1": "deno", ".sdkman/candidates/java/current/bin/java1": "sdkman", ".local/share/mise/shims/mise1": "mise", ".rbenv/shims/ruby1": "rbenv",
	}
	path := ""
	for f := range tools {
		w.script(w.home+"/"+f, "#!/bin/sh\necho ran $0\n")
		path += filepath.Dir(w.home+"/"+f) + ":"
	}
	w.setenv("PATH", path+"/usr/bin:/bin")
	for f, tool := range tools {
		name := filepath.Base(f)
		if r := w.run("--", name); r.out != "ran "+w.home+"/"+f+"\n" {
			t.Errorf("%s: %s", tool, r)
		}
		if r := w.run("--", "sh", "-c", "echo owned > "+w.home+"/"+f); strings.Contains(w.read(w.home+"/"+f), "owned") {
			t.Fatalf("%s: the host's program was overwritten: %s", tool, r)
		}
	}
	if r := w.run("--home", "none", "--", "sh", "-c", "ls ~/.nvm ~/.cargo/bin"); r.code == 0 {
		t.Errorf("--home none shows toolchains: %s", r)
	}
}
