package guard

import (
	"os"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

func testGuard(t testing.TB, dir string, fold bool) *Guard {
	t.Helper()
	eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{policy.Defaults(policy.Agent)})
	if err != nil {
		t.Fatal(err)
	}
	d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}})
	d.fold, d.folding = map[string]bool{dir: fold}, func(string) bool { return false }
	return d
}

// TestNamesWithoutCase: where a file system compares names without case, so
// does the decision. Elsewhere such names are other files, and may be made.
func TestNamesWithoutCase(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		op, path, to string
		kind         broker.Kind
		always       bool // refused with case as well
	}{
		{op: broker.OpMkdir, path: ".VSCODE"}, {op: broker.OpMkdir, path: ".vscode", always: true}, {op: broker.OpCreate, path: ".GIT/Hooks/pre-commit"}, {op: broker.OpCreate, path: "sub/.Git/CONFIG"},
		{op: broker.OpCreate, path: "GIT~1/config"}, {op: broker.OpCreate, path: ".g\u200cit/config"},
		{op: broker.OpRename, path: "x", to: ".HUSKY", kind: broker.KindDir}, {op: broker.OpRename, path: "x", to: "sub/.GIT", kind: broker.KindDir}, {op: broker.OpExchange, path: ".Git", to: "x", kind: broker.KindDir},
		{op: broker.OpSymlink, path: ".EnvRC"}, {op: broker.OpLink, path: "x", to: ".EnvRC", kind: broker.KindFile}, {op: broker.OpLink, path: "Sub/.gIt/config", to: "x", kind: broker.KindFile},
		{op: broker.OpOpen, path: ".MCP.json", kind: broker.KindFile}, {op: broker.OpChmod, path: ".NPMRC", kind: broker.KindFile},
	} {
		for _, fold := range []bool{false, true} {
			ch := broker.Change{Op: c.op, Path: dir + "/" + c.path, Kind: c.kind, Mode: 0o777, Dir: -1, ToDir: -1}
			if c.to != "" {
				ch.To = dir + "/" + c.to
			}
			if c.path == "x" {
				_ = os.Mkdir(dir+"/x", 0o755)
			}
			if v := testGuard(t, dir, fold).Decide(&ch); v.Allowed == (fold || c.always) {
				t.Errorf("%s %q %q, without case %v: allowed %v (%s)", c.op, c.path, c.to, fold, v.Allowed, v.Rule)
			}
		}
	}
	for _, fold := range []bool{false, true} {
		for _, name := range []string{"readme", "GITHUB/x", "git", "x.git/y", "src/Config"} {
			if v := testGuard(t, dir, fold).Decide(&broker.Change{Op: broker.OpCreate, Path: dir + "/" + name, Dir: -1, ToDir: -1}); !v.Allowed {
				t.Errorf("%q, without case %v: %s", name, fold, v.Rule)
			}
		}
	}
}

// TestDirectoriesWithoutCase: a directory, or what is mounted there, may
// compare names in another way than the root.
func TestDirectoriesWithoutCase(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		path    string
		allowed bool
	}{{"odd/.GIT/hooks/x", false}, {"odd/a/b/.Git/Config", false}, {"even/.GIT/hooks/x", true}, {".GIT/hooks/x", true}, {"odd/README", true}, {"odd/x", true}} {
		d := testGuard(t, dir, false)
		asked := 0
		d.folding = func(at string) bool { asked++; return pathname.Within(at, dir+"/odd") }
		if v := d.Decide(&broker.Change{Op: broker.OpCreate, Path: dir + "/" + c.path, Dir: -1, ToDir: -1}); v.Allowed != c.allowed {
			t.Errorf("%q: %+v", c.path, v)
		}
		if c.path == "odd/README" && asked > 0 {
			t.Errorf("%q: %d directories were looked at for nothing", c.path, asked)
		}
	}
}

// TestHintOfRule: a refusal by a rule that the person cannot take away names nothing that
// the person can do.
func TestHintOfRule(t *testing.T) {
	dir := t.TempDir()
	rule := policy.FileRequest{Place: dir + "/*.pem", Glob: true, Access: policy.Deny}
	for layer, want := range map[policy.LayerKind]string{
		policy.LayerOperator:    "no flag widens it: the operator's file decides this",
		policy.LayerCommandLine: "leave out the rule",
		policy.LayerUser:        "leave out the rule",
	} {
		rule.Source = policy.Source{Layer: layer, Text: "deny"}
		eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{
			{Kind: layer, Request: policy.Request{Files: []policy.FileRequest{rule}}}, policy.Defaults(policy.Agent)})
		if err != nil {
			t.Fatal(err)
		}
		d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}})
		for _, v := range []broker.Verdict{
			d.c.reading(dir + "/a.pem"),
			d.Decide(&broker.Change{Op: broker.OpCreate, Path: dir + "/a.pem", Dir: -1, ToDir: -1}),
		} {
			if v.Allowed || v.Hint != want {
				t.Errorf("layer %v: %+v, want the hint %q", layer, v, want)
			}
		}
	}
}
