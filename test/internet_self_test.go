//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// javaProgram fetches one KIND:HOST after the other: with Java's two clients,
// and by TLS over a socket of its own, which knows no proxy.
var javaProgram = program("internet_self/Fetch.java")

// TestInternetWithoutWalls: the tests' own network is what real programs take
// for the internet, or nothing that they fail to reach behind walls counts.
func TestInternetWithoutWalls(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	w := n.world(person{"root", 0, 0}) // ssh wants a name, which the ordinary user has inside only
	n.registries(w)
	n.name("api.example.com", "github.com", "registry.npmjs.org", "pypi.org", "files.pythonhosted.org")
	w.write(w.home+"/.ssh/known_hosts", n.ssh("github.com"))
	w.write(w.project+"/Fetch.java", javaProgram)
	w.litter = true
	for _, c := range []struct{ script, want string }{
		{"curl -sS https://api.example.com/", "reached GET api.example.com"},
		{"curl -sS http://api.example.com/", "reached GET api.example.com"},
		{"git clone -q https://github.com/desk.git a && cat a/README", "from the internet"},
		{"git -c core.sshCommand='ssh -o UserKnownHostsFile='$HOME/.ssh/known_hosts clone -q git@github.com:desk.git b && cat b/README", "from the internet"},
		{"mkdir n && cd n && npm install --no-audit --no-fund --silent desk-greeting && npx --no-install desk-greet", "greetings from yes"},
		{"python3 -m pip download -q desk-greeting 2>/dev/null && ls *.whl", "desk_greeting-1.0-py3-none-any.whl"},
		{"javac Fetch.java && java Fetch client:api.example.com url:api.example.com socket:api.example.com",
			"200 reached GET api.example.com\nreached GET api.example.com\nreached GET api.example.com"},
	} {
		if r := w.plain("bash", "-c", c.script); r.code != 0 || strings.TrimSpace(r.out) != c.want {
			t.Errorf("%s: %s", c.script, r)
		}
	}
	n.cable.only("tools", "dns api.example.com", "dns github.com", "dns registry.npmjs.org", "dns pypi.org", "dns files.pythonhosted.org", "dns "+hostname(t),
		n.web443("api.example.com"), n.web443("github.com"), n.web443("registry.npmjs.org"), n.web443("pypi.org"), n.web443("files.pythonhosted.org"),
		"tcp "+n.address("api.example.com").String()+":80", "tcp "+n.address("github.com").String()+":22")
}

// web443 is how the capture names TLS to a name.
func (n *internet) web443(name string) string { return "tcp " + n.address(name).String() + ":443" }

func hostname(t *testing.T) string {
	t.Helper()
	h, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return h
}
