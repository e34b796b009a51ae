//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// errand is what a tool of everyday life fetches, as a shell script.
type errand struct {
	script string
	want   string // what it prints, where it may; else a part of what it says
	host   string // the name that it is not let to
}

// errands reach only what is listed.
var errands = []errand{
	{script: "curl -sS https://api.example.com/", want: "reached GET api.example.com"},
	{script: "curl -sS http://api.example.com/x", want: "reached GET api.example.com"},
	{script: "curl -sS --noproxy '*' https://api.example.com/", want: "reached GET api.example.com"},
	{script: "curl -sS --noproxy '*' http://api.example.com/", want: "reached GET api.example.com"},
	{script: "curl -sS --socks5-hostname 198.18.0.1:3128 --noproxy none https://api.example.com/", want: "reached GET api.example.com"},
	{script: "git clone -q https://github.com/desk.git a && cat a/README", want: "from the internet"},
	{script: "git clone -q git@github.com:desk.git b && cat b/README", want: "from the internet"},
	{script: "mkdir n && cd n && npm install --no-audit --no-fund --silent desk-greeting && npx --no-install desk-greet", want: "greetings from yes"},
	{script: "python3 -m pip download -q -d wheels desk-greeting 2>/dev/null && ls wheels", want: "desk_greeting-1.0-py3-none-any.whl"},

	{script: "node -e \"for (const h of ['api', 'other']) fetch('https://' + h + '.example.com/').then(r => r.text()).then(t => console.log(t.trim()), () => console.log('refused'))\" | sort",
		want: "reached GET api.example.com\nrefused"},
	{script: "java Fetch client:api.example.com url:api.example.com socket:api.example.com client:other.example.com url:other.example.com socket:other.example.com",
		want: "200 reached GET api.example.com\nreached GET api.example.com\nreached GET api.example.com\nrefused ConnectException\nrefused UnknownHostException\nrefused UnknownHostException"},

	{script: "curl -sS https://other.example.com/", want: "403", host: "other.example.com"},
	{script: "curl -sS http://other.example.com/", want: "carrel: ", host: "other.example.com"},
	{script: "curl -sS --noproxy '*' https://other.example.com/", want: "resolve", host: "other.example.com"},
	{script: "curl -sS https://evilapi.example.com/", want: "403", host: "evilapi.example.com"},
	{script: "curl -sS https://api.example.com.evil.test/", want: "403", host: "api.example.com.evil.test"},
	{script: "curl -sS https://93.184.216.200/", want: "403", host: "93.184.216.200"},
	{script: "curl -sS https://db.example.com/", want: "403", host: "db.example.com"},
	{script: "git clone -q https://gitlab.com/desk.git c", want: "403", host: "gitlab.com"},
	{script: "git clone -q git@gitlab.com:desk.git d", want: "gitlab.com", host: "gitlab.com"},
	{script: "npm install --prefix m --no-audit --no-fund --registry https://npm.example.net desk-greeting", want: "403", host: "npm.example.net"},
	{script: "python3 -m pip download -d x --retries 1 -i https://pip.example.net/simple desk-greeting", want: "403", host: "pip.example.net"},
}

// goErrands are a Go program's, and what each prints: with its own client, which
// knows the proxy, and with plain connections, which do not.
var goErrands = []struct {
	args []string
	want string
}{
	{[]string{"get", "https://api.example.com/"}, "ok 200 reached GET api.example.com"},
	{[]string{"get", "http://api.example.com/"}, "ok 200 reached GET api.example.com"},
	{[]string{"getdirect", "https://api.example.com/"}, "ok 200 reached GET api.example.com"},
	{[]string{"getdirect", "http://api.example.com/"}, "ok 200 reached GET api.example.com"},
	{[]string{"tls", "api.example.com:443"}, "ok reached GET api.example.com"},
	{[]string{"dial", "tcp", "db.example.com:5432"}, "ok reached"},
	{[]string{"dial", "tcp", "db.example.com:6379"}, "ECONNREFUSED"},
	{[]string{"dial", "tcp", "api.example.com:6379"}, "ECONNREFUSED"},
	{[]string{"get", "https://go.example.net/"}, "Forbidden"},
	{[]string{"get", "http://go.example.net/"}, "ok 403 not_listed carrel: go.example.net is not reachable from here"},
	{[]string{"getdirect", "https://go.example.net/"}, "error"},
	{[]string{"tls", "go.example.net:443"}, "error"},
	{[]string{"dial", "tcp", "93.184.216.10:8080"}, "ENETUNREACH"},
	{[]string{"dial", "tcp", "[2606:2800:220::10]:8080"}, "ENETUNREACH"},
}

// goProgram does a Go program's errands in one run.
func (w *world) goProgram() {
	w.t.Helper()
	var args []string
	for _, e := range goErrands {
		args = append(append(args, e.args...), "--")
	}
	for i, got := range strings.Split(w.attack(listedHosts, args[:len(args)-1]...), "\n") {
		want := goErrands[i].want
		if exact := strings.HasPrefix(want, "ok") && !strings.Contains(want, "403"); exact && got != want || !strings.Contains(got, want) || strings.Contains(got, "slow") {
			w.t.Errorf("%q: %q, want %q", goErrands[i].args, got, want)
		}
	}
	if !w.denied("go.example.net") {
		w.t.Errorf("no denial names go.example.net: %s", w.plain(w.bin, "denials", "--all", "--json"))
	}
}

// listedHosts are the flags that the errands run with.
var listedHosts = []string{
	"--network", "filtered", "--allow-host", "api.example.com", "--allow-host", "github.com", "--allow-host", "db.example.com:5432",
	"--allow-host", "preset:npm", "--allow-host", "preset:pypi",
}

// TestFilteredTools: unmodified tools reach what is listed and nothing else.
func TestFilteredTools(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		w.need("curl", "git", "npm", "python3", "java", "javac")
		n.registries(w)
		listed := []string{"api.example.com", "github.com", "db.example.com", "registry.npmjs.org", "pypi.org", "files.pythonhosted.org"}
		n.name(listed...)
		n.name("other.example.com", "evilapi.example.com", "api.example.com.evil.test", "gitlab.com", "npm.example.net", "pip.example.net", "go.example.net")
		w.write(w.home+"/.ssh/known_hosts", n.ssh("github.com", "gitlab.com"))
		w.write(w.project+"/Fetch.java", javaProgram)
		w.outsideSh("javac Fetch.java")
		w.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
		n.cable.start()
		for _, e := range errands {
			w.errand(e)
		}
		w.goProgram()
		n.reachedOnly(listed...)
	})
}

// errand does one, as its own run. What is refused ends soon; how long the tool
// itself takes to start is not ours.
func (w *world) errand(e errand) {
	w.t.Helper()
	start := time.Now()
	r := w.run(slices.Concat(listedHosts, []string{"--", "bash", "-c", e.script})...)
	took := time.Since(start)
	if os.Getenv("CARREL_TIMES") != "" {
		w.t.Logf("%v: %s", took, e.script)
	}
	if e.host == "" {
		if r.code != 0 || strings.TrimSpace(r.out) != e.want {
			w.t.Errorf("%s: %s", e.script, r)
		}
		return
	}
	if strings.Contains(r.out, greeting) || !strings.Contains(r.out+r.err, e.want) {
		w.t.Errorf("%s reaches something, or does not say %q: %s", e.script, e.want, r)
	}
	if took > 4*quick {
		w.t.Errorf("%s: refused after %v only: %s", e.script, took, r)
	}
	if !w.denied(e.host) {
		w.t.Errorf("%s: no denial names %s: %s", e.script, e.host, w.plain(w.bin, "denials", "--all", "--json"))
	}
}

// denied says whether some refusal of a connection names a host.
func (w *world) denied(host string) bool {
	w.t.Helper()
	var all []struct{ Operation, Subject, Message string }
	w.must(json.Unmarshal([]byte(w.plain(w.bin, "denials", "--all", "--json").out), &all))
	for _, d := range all {
		if d.Operation == "connect" && strings.Contains(d.Subject+" "+d.Message, host) {
			return true
		}
	}
	return false
}

// reachedOnly wants all that left the host to be about some names: questions
// for them and TCP to their addresses.
func (n *internet) reachedOnly(names ...string) {
	n.t.Helper()
	for _, s := range n.cable.seen() {
		ok := slices.ContainsFunc(names, func(name string) bool {
			return s == "dns "+name || strings.HasPrefix(s, "tcp "+n.address(name).String()+":")
		})
		if !ok && !slices.Contains(noise, s) {
			n.t.Errorf("%q left the host; listed: %q", s, names)
		}
	}
}
