//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policy writes a policy file of the world: rules are "PLACE=ACCESS", a place
// that begins with "*" is a glob, an access that ends in "?" may be missing. The
// attack and the system are shown.
func (w *world) policy(more string, rules ...string) string {
	w.t.Helper()
	list := []string{`{"path": ":system", "access": "read"}`, fmt.Sprintf(`{"path": %q, "access": "read"}`, filepath.Dir(built.attack))}
	for _, r := range rules {
		place, access, _ := strings.Cut(r, "=")
		key, missing := "path", ""
		if place[0] == '*' {
			key, place = "glob", place[1:]
		}
		if access, skip := strings.CutSuffix(access, "?"); skip {
			missing = `, "if_missing": "skip"`
			list = append(list, fmt.Sprintf(`{%q: %q, "access": %q%s}`, key, place, access, missing))
			continue
		}
		list = append(list, fmt.Sprintf(`{%q: %q, "access": %q}`, key, place, access))
	}
	if more != "" {
		more = ", " + more
	}
	if !strings.Contains(more, `"environment"`) {
		more += `, "environment": {"set": {"PATH": "/usr/bin:/bin"}}`
	}
	text := fmt.Sprintf(`{"version": 1, "files": [%s]%s}`, strings.Join(list, ", "), more)
	return w.write(w.base+"/policies/p.json", text)
}

// inSandbox runs attacks under a policy and gives their lines.
func (w *world) inSandbox(policy string, attacks ...string) []string {
	w.t.Helper()
	r := w.carrel(append([]string{"sandbox", "--policy", policy, "--", built.attack}, attacks...)...)
	if r.code != 0 {
		w.t.Fatalf("%s", r)
	}
	return strings.Split(strings.TrimSpace(r.out), "\n")
}

// TestSandboxIsThePolicy: what the policy says is what there is, no more and no
// less; the same attacks succeed outside.
func TestSandboxIsThePolicy(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) { sandboxIsThePolicy(t, newWorld(t, p)) })
}

func sandboxIsThePolicy(t *testing.T, w *world) {
	w.write(w.project+"/open", "open")
	w.write(w.project+"/deny/secret", "SECRET")
	w.write(w.project+"/deny/again", "again")
	w.write(w.project+"/a/b.pem", "SECRET")
	w.write(w.project+"/fixed", "fixed")
	w.write(w.project+"/.git/hooks/pre-commit", "hook")
	w.write(w.outside+"/file", "SECRET")
	at := func(name string) string { return w.project + "/" + name }
	attacks := [][]string{
		{"read", at("open")}, {"read", at("deny/secret")}, {"read", at("deny/again")}, {"read", at("a/b.pem")}, {"read", w.outside + "/file"},
		{"write", at("made")}, {"write", at("deny/again")}, {"write", at("fixed")}, {"write", at(".git/hooks/pre-commit")}, {"write", w.outside + "/file"},
	}
	var flat []string
	for i, a := range attacks {
		if i > 0 {
			flat = append(flat, "--")
		}
		flat = append(flat, a...)
	}
	for _, line := range strings.Split(w.canary(flat...), "\n") {
		if !strings.HasPrefix(line, "ok") {
			t.Fatalf("canary: %q", line)
		}
	}
	for name, content := range map[string]string{"open": "open", "deny/again": "again", "fixed": "fixed", ".git/hooks/pre-commit": "hook"} {
		w.write(at(name), content)
	}
	w.write(w.outside+"/file", "SECRET")
	_ = os.Remove(at("made"))
	got := w.inSandbox(w.policy("", ":cwd=write", at("deny")+"=deny", at("deny/again")+"=write", at("fixed")+"=read", "*:cwd/**/*.pem=deny?"), flat...)
	want := []string{"ok open", "ENOENT EACCES", "ok", "EACCES", "ENOENT", "ok", "ok", "EROFS EACCES", "ok", "ENOENT"}
	for i, g := range got {
		word, _, _ := strings.Cut(want[i], " ")
		if word == "ok" && !strings.HasPrefix(g, want[i]) || word != "ok" && !slices.Contains(strings.Fields(want[i]), g) {
			t.Errorf("%q: %q, want %s", attacks[i], g, want[i])
		}
	}
	if w.read(at("fixed")) != "fixed" || w.read(w.outside+"/file") != "SECRET" || !exists(at("made")) {
		t.Error("the host is not as the policy says")
	}
	if w.read(at(".git/hooks/pre-commit")) == "hook" {
		t.Error("a name is protected that no rule speaks of")
	}
}

// TestSandboxWithoutNamespaces: where nobody gets namespaces, what no rule speaks of would
// still be there by its name, so that the low-level form holds no policy.
func TestSandboxWithoutNamespaces(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	w.wrap = refuseNamespaces("true")
	for _, more := range []string{"", `"history": "on"`} {
		r := w.carrel("sandbox", "--json", "--policy", w.policy(more, ":cwd=write"), "--", "sh", "-c", "stat "+w.outside+"; env; ls -d /tmp /proc/self; touch "+w.project+"/started")
		if r.code != 125 || !strings.Contains(r.err, "landlock: what is private") || r.out != "" || exists(w.project+"/started") {
			t.Errorf("%s: %s", more, r)
		}
	}
}

// TestSandboxWithBubblewrap: the low-level form holds the same policy where the
// system refuses carrel namespaces, says in its result what made the walls, and
// refuses what bubblewrap does not hold.
func TestSandboxWithBubblewrap(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	w.wrap = withoutNamespaces(w)
	sandboxIsThePolicy(t, w)
	root := w.policy("", "/=read", w.outside+"=deny")
	if got := w.inSandbox(root, "read", w.outside+"/file", "--", "write", w.project+"/made", "--", "read", w.home+"/.config/carrel"); strings.HasPrefix(strings.Join(got, ""), "ok") {
		t.Errorf("all but one directory: %q", got)
	}
	r := w.carrel("sandbox", "--json", "--policy", w.policy("", ":cwd=write"), "--", "true")
	if r.code != 0 || !strings.Contains(r.err, `"engine":"bubblewrap"`) {
		t.Errorf("it does not say what made the walls: %s", r)
	}
	for name, more := range map[string]string{
		"history": `"history": "on"`, "network": `"network": {"mode": "filtered", "allow_hosts": ["a.com"]}`, "nested": `"nested": "full"`, "programs": `"programs": ["/usr/bin/touch"]`, "devices": `"devices": ["/dev/zero"]`,
	} {
		r := w.carrel("sandbox", "--policy", w.policy(more, ":cwd=write"), "--", "touch", w.project+"/started")
		if r.code != 125 || !strings.Contains(r.err, "cannot hold: "+name) || exists(w.project+"/started") {
			t.Errorf("%s: %s", name, r)
		}
	}
}

// TestSandboxHidesWhatIsGone: a socket that was to be hidden, and has gone when bubblewrap is told
// so, keeps no command from its start.
func TestSandboxHidesWhatIsGone(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	l, err := net.Listen("unix", w.outside+"/gone.sock")
	w.must(err)
	defer l.Close()
	withoutNamespaces(w) // whose bubblewrap is in the way of this one
	script := w.base + "/bwrap.sh"
	removing := "[ \"$1\" = --args ] && rm -f " + w.outside + "/gone.sock"
	w.must(os.WriteFile(script, []byte("#!/bin/sh\n"+removing+"\nexec "+w.base+"/bwrap \"$@\"\n"), 0o755))
	w.must(os.Chmod(script, 0o755))
	w.must(os.Chmod(w.outside, 0o777))
	w.wrap = refuseNamespaces("mount --bind " + script + " /usr/bin/bwrap")
	r := w.carrel("sandbox", "--json", "--policy", w.policy("", "/=read"), "--", "true")
	if r.code != 0 || !strings.Contains(r.err, `"engine":"bubblewrap"`) || exists(w.outside+"/gone.sock") {
		t.Errorf("the socket is there: %v; %s", exists(w.outside+"/gone.sock"), r)
	}
}

// TestSandboxReadsNothingElse: files that change or break carrel run are nothing
// here, and neither is the environment.
func TestSandboxReadsNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.home+"/.config/carrel/config.yaml", "nonsense: [\n")
	w.write(w.project+"/.carrel.yaml", "nonsense: [\n")
	w.setenv("CARREL_NETWORK", "nonsense")
	w.setenv("SECRET_TOKEN", "SECRET")
	if r := w.run("--", "true"); r.code != 125 {
		t.Fatalf("canary: carrel run takes it: %s", r)
	}
	policy := w.policy(`"environment": {"pass": ["TERM", "NOT_SET"], "set": {"PATH": "/usr/bin:/bin", "A": {"base64": "/yA="}}}`, ":cwd=read")
	r := w.carrel("sandbox", "--policy", policy, "--", "env")
	if want := "A=\xff \nCARREL=1\nPATH=/usr/bin:/bin\nTERM=xterm\n"; r.code != 0 || r.out != want {
		t.Errorf("%s\nwant %q", r, want)
	}
	if r.err != "" {
		t.Errorf("it said %q", r.err)
	}
}

// TestSandboxRoot: "/" is all that there is on the machine but what a workspace
// has of its own, and carrel's own files.
func TestSandboxRoot(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.write(w.outside+"/file", "seen")
		hidden := w.write(w.outside+"/hidden", "SECRET")
		config := w.write(w.home+"/.config/carrel/config.yaml", "")
		read := w.policy("", "/=read", hidden+"=deny")
		if got, want := w.inSandbox(read, "read", file, "--", "read", hidden, "--", "write", file, "--", "read", config), []string{"ok seen", "EACCES", "EROFS"}; !slices.Equal(got[:3], want) || strings.HasPrefix(got[3], "ok") {
			t.Errorf("read: %q, want %q and no configuration", got, want)
		}
		if r := w.carrel("sandbox", "--policy", read, "--", "sh", "-c", "test -e /bin/sh && ls / /run /proc/self/status && cat /etc/hostname >/dev/null"); r.code != 0 {
			t.Errorf("the root is not what it was: %s", r)
		}
		write := w.policy("", "/=write", hidden+"=read")
		if got := w.inSandbox(write, "write", file, "--", "write", hidden, "--", "write", config); got[0] != "ok" || got[1] != "EROFS" || strings.HasPrefix(got[2], "ok") {
			t.Errorf("write: %q", got)
		}
		recorded := w.policy(`"history": "on"`, "/=write", hidden+"=read", "*"+w.outside+"/**/*.pem=deny")
		if got := w.inSandbox(recorded, "write", file, "--", "write", hidden, "--", "write", w.outside+"/new.pem", "--", "write", w.outside+"/new"); !slices.Equal(got, []string{"ok", "EACCES", "EACCES", "ok"}) {
			t.Errorf("write, with the history: %q", got)
		}
		if w.read(file) == "seen" || w.read(hidden) != "SECRET" {
			t.Error("the host is not as the policy says")
		}
	})
}

// TestSandboxFile: a single file that may be written, with the history and
// without; nothing beside it changes, and it comes back.
func TestSandboxFile(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, more := range []string{"", `"history": "on"`} {
			w := newWorld(t, p)
			file := w.write(w.outside+"/file", "first")
			canary := w.write(w.outside+"/canary", "kept")
			w.canary("write", canary)
			w.write(canary, "kept")
			got := w.inSandbox(w.policy(more, ":cwd=read", file+"=write"), "write", file, "--", "write", canary, "--", "write", w.outside+"/new", "--", "write", w.project+"/new")
			for i, line := range got {
				if strings.HasPrefix(line, "ok") != (i == 0) {
					t.Errorf("%s: attack %d: %q", more, i, line)
				}
			}
			if w.read(file) == "first" || w.read(canary) != "kept" || exists(w.outside+"/new") || exists(w.project+"/new") {
				t.Errorf("%s: the host is not as the policy says", more)
			}
			if more == "" {
				continue
			}
			w.fine("undo", "--write", file)
			if got := w.read(file); got != "first" {
				t.Errorf("undone, it is %q", got)
			}
		}
	})
}

// TestSandboxProtectedRoot: a pattern that names what may be written, or something above it,
// keeps all of it, whatever other rules say.
func TestSandboxProtectedRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	file := w.write(w.project+"/file", "kept")
	deep := w.write(w.project+"/sub/file", "kept")
	for _, more := range []string{"", `"history": "on"`} {
		for _, glob := range []string{"/", "/**", w.project, w.project + "/**", filepath.Dir(w.project), filepath.Dir(w.project) + "/*"} {
			got := w.inSandbox(w.policy(more, ":cwd=write", ":cwd/sub=write", "*"+glob+"=protect?"), "write", file, "--", "write", deep, "--", "read", file)
			for i, line := range got {
				if strings.HasPrefix(line, "ok") != (i == 2) {
					t.Errorf("%s %s: attack %d: %q", more, glob, i, line)
				}
			}
			if w.read(file) != "kept" || w.read(deep) != "kept" {
				t.Fatalf("%s %s: it was changed", more, glob)
			}
		}
	}
	if got := w.inSandbox(w.policy("", ":cwd=write"), "write", file); got[0] != "ok" {
		t.Errorf("canary: %q", got)
	}
}

// TestSandboxLinkedPattern: a link that a pattern denies hides what it leads to, with the
// history and without.
func TestSandboxLinkedPattern(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, more := range []string{"", `"history": "on"`} {
			w := newWorld(t, p)
			secret := w.write(w.project+"/real/file", "SECRET")
			other := w.write(w.project+"/real/other", "other")
			w.symlink(secret, w.project+"/a.env")
			got := w.inSandbox(w.policy(more, ":cwd=write", "*:cwd/**/*.env=deny?"), "read", w.project+"/a.env", "--", "read", secret, "--", "write", secret, "--", "read", other)
			if !slices.Equal(got, []string{"EACCES", "EACCES", "EACCES", "ok other"}) {
				t.Errorf("%s: %q", more, got)
			}
			if w.read(secret) != "SECRET" {
				t.Errorf("%s: it was changed", more)
			}
		}
	})
}

// TestSandboxTmp: the machine's /tmp is granted as every directory is; :tmp is a
// private one; without either there is none.
func TestSandboxTmp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	dir, err := os.MkdirTemp("/tmp", "carrel-e2e-")
	w.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.must(os.Chmod(dir, 0o777))
	for _, c := range []struct{ rule, want string }{{"/tmp=write", "ok"}, {":tmp=write", "ENOENT"}, {":cwd=read", "ENOENT"}} {
		if got := w.inSandbox(w.policy("", ":cwd=read", c.rule), "write", dir+"/"+c.rule[1:4])[0]; got != c.want {
			t.Errorf("%s: %q, want %s", c.rule, got, c.want)
		}
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 1 {
		t.Errorf("%d files came through, want 1", len(names))
	}
	if got := w.inSandbox(w.policy("", ":cwd=read"), "write", "/tmp/mine")[0]; got != "ENOENT" {
		t.Errorf("without either: %q", got)
	}
	if got := w.inSandbox(w.policy("", ":cwd=read", ":tmp=write"), "write", "/tmp/mine")[0]; got != "ok" || exists("/tmp/mine") {
		t.Errorf("the private one: %q", got)
	}
}

// TestSandboxRefusesWhatItCannotHold: a rule without anything to hold it by is no
// start, unless it says so itself; with the history it holds.
func TestSandboxRefusesWhatItCannotHold(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.symlink(w.outside, w.project+"/link")
		w.symlink("/proc", w.base+"/to-proc")
		sock := w.project + "/none"
		for name, c := range map[string]struct {
			more  string
			rules []string
			want  string
		}{
			"a grant":                    {"", []string{w.outside + "/none=read"}, "does not exist"},
			"a grant to write":           {"", []string{w.outside + "/none=write"}, "does not exist"},
			"a deny":                     {"", []string{":cwd=write", ":cwd/none=deny"}, "does not exist"},
			"a name that stays":          {"", []string{":cwd=write", ":cwd/none=read"}, "does not exist"},
			"a pattern":                  {"", []string{":cwd=write", "*:cwd/**/*.pem=deny"}, `"history": "on"`},
			"a pattern that protects":    {"", []string{":cwd=write", "*:cwd/**/x=protect"}, `"history": "on"`},
			"a link that can be changed": {"", []string{":cwd=write", ":cwd/link=write"}, "which the policy lets be changed"},
			"no working directory":       {"", nil, "working directory"},
			"the machine's processes":    {"", []string{":cwd=read", "/proc=read"}, "the workspace's own"},
			"one of them":                {"", []string{":cwd=read", "/proc/1=read?"}, "the workspace's own"},
			"processes behind a link":    {"", []string{":cwd=read", w.base + "/to-proc=read"}, "the workspace's own"},
			"the machine's devices":      {"", []string{":cwd=read", "/dev=write"}, "the workspace's own"},
			"the machine's sockets":      {"", []string{":cwd=read", "/run=read"}, "the workspace's own"},
			"a deny by a link":           {"", []string{":cwd=write", ":cwd/link=deny"}, "which the policy lets be changed"},
			"a deny behind a link":       {`"history": "on"`, []string{":cwd=write", ":cwd/link/file=deny?"}, "which the policy lets be changed"},
			"a pattern and a link":       {"", []string{":cwd=write", "*:cwd/l*=deny?", ":cwd/link=deny"}, "which the policy lets be changed"},
			"a socket by a link":         {fmt.Sprintf(`"unix_sockets": [%q]`, w.project+"/link/sock"), []string{":cwd=write"}, "which the policy lets be changed"},
			"a program by a link":        {fmt.Sprintf(`"programs": [%q]`, w.project+"/link/program"), []string{":cwd=write"}, "which the policy lets be changed"},
			"a cwd by a link":            {fmt.Sprintf(`"cwd": %q`, w.project+"/link"), []string{w.project + "=write", ":cwd=write"}, "which the policy lets be changed"},
			"processes denied":           {"", []string{":cwd=read", "/proc=deny"}, "the workspace's own"},
			"processes by a pattern":     {"", []string{":cwd=read", "*/proc/*/environ=deny?"}, "the workspace's own"},
			"a device denied":            {"", []string{":cwd=read", "/dev/null=deny"}, "the workspace's own"},
			"temporary files denied":     {"", []string{":cwd=read", "/var/tmp=deny"}, "the workspace's own"},
			"two kinds of /tmp":          {"", []string{":cwd=read", ":tmp=write", "/tmp=read"}, "private by another rule"},
			"a socket":                   {fmt.Sprintf(`"unix_sockets": [%q]`, sock), []string{":cwd=write"}, sock},
			"programs with full nesting": {`"programs": ["/usr/bin/true"], "nested": "full"`, []string{":cwd=write"}, "programs"},
		} {
			r := w.carrel("sandbox", "--policy", w.policy(c.more, c.rules...), "--", "/usr/bin/true")
			if r.code != 125 || !strings.Contains(r.err, c.want) {
				t.Errorf("%s: %s\nwant 125 and %q", name, r, c.want)
			}
		}
		skips := w.policy("", ":cwd=write", ":cwd/none=deny?", "*:cwd/**/x=protect?", w.outside+"/none=read?", ":cwd/stays=read?")
		if r := w.carrel("sandbox", "--policy", skips, "--", "true"); r.code != 0 {
			t.Errorf("with skip: %s", r)
		}
		held := w.policy(`"history": "on"`, ":cwd=write", ":cwd/none=deny", ":cwd/stays=read", "*:cwd/**/x=protect")
		got := w.inSandbox(held, "write", w.project+"/none", "--", "write", w.project+"/stays", "--", "write", w.project+"/a-x", "--", "write", w.project+"/x")
		if !slices.Equal(got, []string{"EACCES", "EACCES", "ok", "EACCES"}) {
			t.Errorf("with the history: %q", got)
		}
		if got := w.inSandbox(w.policy(`"history": "on"`, ":cwd=write"), "write", w.project+"/.envrc")[0]; got != "ok" {
			t.Errorf("a name that no rule speaks of: %q", got)
		}
		for _, name := range []string{"none", "stays", "x"} {
			if exists(w.project + "/" + name) {
				t.Errorf("%s was made", name)
			}
		}
	})
}

func TestSandboxNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	addr := w.listen("tcp4", "127.0.0.1:0").Addr().String()
	port := addr[strings.LastIndexByte(addr, ':')+1:]
	if got := w.canary("tcp", port); !strings.HasPrefix(got, "ok") {
		t.Fatalf("canary: %q", got)
	}
	for _, c := range []struct {
		network string
		ok      bool
	}{{`{}`, false}, {`{"mode": "closed"}`, false}, {`{"mode": "local"}`, false}, {`{"mode": "filtered"}`, false}, {`{"mode": "open"}`, true}, {`{"mode": "local", "host_ports": [` + port + `]}`, true}} {
		got := w.inSandbox(w.policy(`"network": `+c.network, ":cwd=read"), "tcp", port)[0]
		if strings.HasPrefix(got, "ok") != c.ok {
			t.Errorf("%s: %q", c.network, got)
		}
	}
}

// TestSandboxSockets: a socket outside is reached where it is listed, and its
// directory shows none of the others.
func TestSandboxSockets(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		listed, other := w.project+"/listed.sock", w.project+"/other.sock"
		w.listen("unix", listed)
		w.listen("unix", other)
		attacks := []string{"connect", listed, "--", "connect", other}
		if got := w.canary(attacks...); strings.Count(got, greeting) != 2 {
			t.Fatalf("canary: %q", got)
		}
		got := w.inSandbox(w.policy(fmt.Sprintf(`"unix_sockets": [%q]`, listed), ":cwd=write"), attacks...)
		if got[0] != "ok "+greeting || strings.HasPrefix(got[1], "ok") {
			t.Errorf("%q", got)
		}
	})
}
