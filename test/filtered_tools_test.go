//go:build linux

package e2e

import (
	"encoding/json"
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
	{script: "attack get https://api.example.com/", want: "ok 200 reached GET api.example.com"},
	{script: "attack getdirect https://api.example.com/", want: "ok 200 reached GET api.example.com"},
	{script: "attack tls api.example.com:443", want: "ok reached GET api.example.com"},
	{script: "java Fetch client api.example.com", want: "200 reached GET api.example.com"},
	{script: "java Fetch url api.example.com", want: "reached GET api.example.com"},
	{script: "java Fetch socket api.example.com", want: "reached GET api.example.com"},
	{script: "attack dial tcp db.example.com:5432", want: "ok reached"},
	{script: "attack dial tcp db.example.com:6379", want: "ECONNREFUSED"},

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
	{script: "python3 -m pip download -d x --retries 0 -i https://pip.example.net/simple desk-greeting", want: "403", host: "pip.example.net"},
	{script: "attack get https://other.example.com/", want: "Forbidden", host: "other.example.com"},
	{script: "attack getdirect https://other.example.com/", want: "other.example.com", host: "other.example.com"},
	{script: "attack tls other.example.com:443", want: "other.example.com", host: "other.example.com"},
	{script: "java Fetch client other.example.com", want: "", host: "other.example.com"},
	{script: "java Fetch url other.example.com", want: "UnknownHost", host: "other.example.com"},
	{script: "java Fetch socket other.example.com", want: "UnknownHost", host: "other.example.com"},
}

// listedHosts are the flags that the errands run with.
var listedHosts = []string{
	"--network", "filtered", "--allow-host", "api.example.com", "--allow-host", "github.com", "--allow-host", "db.example.com:5432",
	"--allow-host", "preset:npm", "--allow-host", "preset:pypi",
}

// TestFilteredTools: unmodified tools reach what is listed and nothing else.
func TestFilteredTools(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		w.need("curl", "git", "npm", "python3", "java", "javac")
		n.registries(w)
		listed := []string{"api.example.com", "github.com", "db.example.com", "registry.npmjs.org", "pypi.org", "files.pythonhosted.org"}
		n.name(listed...)
		n.name("other.example.com", "evilapi.example.com", "api.example.com.evil.test", "gitlab.com", "npm.example.net", "pip.example.net")
		w.write(w.home+"/.ssh/known_hosts", n.ssh("github.com", "gitlab.com"))
		w.write(w.project+"/Fetch.java", javaProgram)
		w.outsideSh("javac Fetch.java")
		w.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
		n.cable.start()
		for _, e := range errands {
			w.errand(e)
		}
		n.reachedOnly(listed...)
	})
}

// errand does one, as its own run.
func (w *world) errand(e errand) {
	w.t.Helper()
	script := strings.ReplaceAll(e.script, "attack ", built.attack+" ")
	start := time.Now()
	r := w.run(slices.Concat(listedHosts, []string{"--read", built.attack, "--", "bash", "-c", script})...)
	took := time.Since(start)
	said := r.out + r.err
	switch {
	case e.host == "" && (r.code != 0 || strings.TrimSpace(r.out) != e.want):
		w.t.Errorf("%s: %s", e.script, r)
	case e.host != "" && (strings.Contains(r.out, greeting) || r.code == 0 && !strings.Contains(e.script, "attack") && !strings.Contains(e.script, "http://")):
		w.t.Errorf("%s succeeds: %s", e.script, r)
	case e.host != "" && !strings.Contains(said, e.want):
		w.t.Errorf("%s does not say %q: %s", e.script, e.want, r)
	case e.host != "" && took > quick:
		w.t.Errorf("%s: refused after %v only: %s", e.script, took, r)
	case e.host != "" && !w.denied(e.host):
		w.t.Errorf("%s: no denial names %s: %s", e.script, e.host, w.plain(w.bin, "denials", "--all", "--json"))
	}
}

// denied says whether some refusal of a connection names a host.
func (w *world) denied(host string) bool {
	w.t.Helper()
	for line := range strings.Lines(w.plain(w.bin, "denials", "--all", "--json").out) {
		var d struct{ Operation, Subject, Message string }
		if json.Unmarshal([]byte(line), &d) == nil && d.Operation == "connect" && strings.Contains(d.Subject+" "+d.Message, host) {
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
