package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// testScope is a project at /w below no home, so that the tables' paths stay
// short.
func testScope() Scope {
	return Scope{Cwd: "/w", Project: "/w", Home: "/home/u", Tmp: "/tmp", System: []string{"/usr", "/etc"}}
}

func rule(place string, a Access) FileRequest {
	return FileRequest{Place: place, Access: a, Source: Source{Text: place}}
}

func glob(place string, a Access) FileRequest {
	return FileRequest{Place: place, Glob: true, Access: a, Source: Source{Text: place}}
}

func layer(kind LayerKind, files ...FileRequest) Layer {
	return Layer{Kind: kind, Name: kind.String(), Request: Request{Files: files}}
}

// mustDecide decides for persona agent, with nothing but the layers given.
func mustDecide(t testing.TB, ceiling *Ceiling, layers ...Layer) *Effective {
	t.Helper()
	e, err := Decide(testScope(), ceiling, layers)
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return e
}

func wantAccess(t *testing.T, e *Effective, path string, want Access) {
	t.Helper()
	if got := e.Lookup(path); got.Access != want {
		t.Errorf("Lookup(%q) = %s, want %s (rule %v)", path, got.Access, want, got.Rule)
	}
}

// TestPathResolution holds the rule "deepest, then deny over write over read"
// on the cases of other sandboxes that apply to this model. Cases that do not:
// conversion from an older policy format (P7, P11, P14, P15, P20) and
// unrestricted policies (P21), which do not exist here; several workspace roots
// (P16): there is one project; network shares (P18): Linux has none; roots that
// swap while they are read (P23): this package reads no file.
func TestPathResolution(t *testing.T) {
	type query struct {
		path string
		want Access
	}
	tests := []struct {
		name  string
		files []FileRequest
		want  []query
	}{
		{"P1 nested", []FileRequest{rule(":project", Write), rule("/w/docs", Read), rule("/w/docs/private", Deny), rule("/w/docs/private/public", Write)},
			[]query{{"/w", Write}, {"/w/docs", Read}, {"/w/docs/private", Deny}, {"/w/docs/private/public", Write}, {"/w/docs/private/x", Deny}}},
		{"P3 root write, docs read", []FileRequest{rule("/", Write), rule("/w/docs", Read)},
			[]query{{"/", Write}, {"/w/docs", Read}, {"/w", Write}}},
		{"P4 read and write on one path", []FileRequest{rule("/", Write), rule("/w/docs", Read), rule("/w/docs", Write)},
			[]query{{"/w/docs", Write}}},
		{"P5 write and deny on the root", []FileRequest{rule("/", Write), rule("/", Deny)},
			[]query{{"/", Deny}, {"/w", Deny}}},
		{"P6 deny on the root erases nothing below", []FileRequest{rule("/", Deny), rule("/w/docs", Read)},
			[]query{{"/w/docs", Read}, {"/w/docs/a", Read}, {"/w", Deny}}},
		{"P8 protected names", []FileRequest{rule("/w", Write), glob("/w/.git", Read), glob("/w/.agents", Read)},
			[]query{{"/w/.git/config", Read}, {"/w/.agents/config", Read}, {"/w/src/a", Write}}},
		{"P13 subpath with ..", []FileRequest{rule(":project/docs/../public", Write)},
			[]query{{"/w/public/f", Write}, {"/outside", Unset}, {"/w/docs", Unset}}},
		{"P17 relative to the working directory", []FileRequest{rule("src", Write), rule("./lib/", Read)},
			[]query{{"/w/src/main.rs", Write}, {"/w/lib/a", Read}, {"/w/other", Unset}}},
		{"P22 write and deny on one path", []FileRequest{rule("/w", Write), rule("/w", Deny)},
			[]query{{"/w", Deny}, {"/w/a", Deny}}},
		{"siblings that share letters", []FileRequest{rule("/w/doc", Write)},
			[]query{{"/w/docs", Unset}, {"/w/doc/a", Write}, {"/w", Unset}}},
		{"bytes that are not UTF-8", []FileRequest{rule("/w/a\xff", Write)},
			[]query{{"/w/a\xff/x", Write}, {"/w/a\xfe", Unset}, {"/w/a\uFFFD", Unset}}},
		{"newline and backslash", []FileRequest{rule("/w/a\nb\\c", Read)},
			[]query{{"/w/a\nb\\c", Read}, {"/w/a", Unset}}},
		{"home and tmp", []FileRequest{rule("~/x", Read), rule(":home/y", Read), rule(":tmp", Write), rule(":system", Read), rule(":system/lib", Deny)},
			[]query{{"/home/u/x", Read}, {"/home/u/y/z", Read}, {"/tmp/f", Write}, {"/usr/bin", Read}, {"/etc/lib", Deny}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} { // P2: order is irrelevant
				files := slices.Clone(tt.files)
				if reversed {
					slices.Reverse(files)
				}
				e := mustDecide(t, nil, layer(LayerUser, files...))
				for _, q := range tt.want {
					wantAccess(t, e, q.path, q.want)
				}
			}
		})
	}
}

// P12: the order in which accesses beat each other.
func TestAccessOrder(t *testing.T) {
	if !(Unset < Read && Read < Write && Write < Deny) {
		t.Error("want Unset < Read < Write < Deny")
	}
}

// P9, P10, P19: a default protection gives way to a person's own write there,
// and holds whether or not the name exists.
func TestDefaultProtectionReopened(t *testing.T) {
	def := layer(LayerDefault, rule(":project", Write), glob(".codex", Read), glob(".git", Read))
	e := mustDecide(t, nil, def, layer(LayerUser, rule("/w/.codex", Write)))
	wantAccess(t, e, "/w/.codex/config.toml", Write)
	wantAccess(t, e, "/w/.git/config", Read)
	wantAccess(t, e, "/w/sub/.codex", Read)
	if d := e.Lookup("/w/.git/config"); !d.Protected || d.Below == nil {
		t.Errorf("Lookup(.git/config) = %+v, want Protected with the write below", d)
	}
}

func TestDefaultDenyReopened(t *testing.T) {
	def := layer(LayerDefault, rule(":project", Write), glob(".env*", Deny), rule("~/.ssh", Deny), rule("~", Read))
	tests := []struct {
		name  string
		layer Layer
		path  string
		want  Access
	}{
		{"default denies", layer(LayerUser), "/w/.env", Deny},
		{"user re-opens the match", layer(LayerUser, rule("/w/.env", Read)), "/w/.env", Read},
		{"command line re-opens below the match", layer(LayerCommandLine, rule("/w/.env.d/a", Write)), "/w/.env.d/a", Write},
		{"not beside it", layer(LayerCommandLine, rule("/w/.env.d/a", Write)), "/w/.env.d/b", Deny},
		{"a grant above does not", layer(LayerUser, rule("/w", Write)), "/w/.env", Deny},
		{"another default does not", layer(LayerDefault, rule("/w/.env", Read)), "/w/.env", Deny},
		{"user re-opens the same path", layer(LayerUser, rule("~/.ssh", Read)), "/home/u/.ssh/id", Read},
		{"another default on the same path does not", layer(LayerDefault, rule("~/.ssh", Read)), "/home/u/.ssh/id", Deny},
		{"a project file does not", layer(LayerProject, rule("/w/.env", Read)), "/w/.env", Deny},
		{"a user's deny does not", layer(LayerUser, rule("/w/.env", Deny)), "/w/.env", Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantAccess(t, mustDecide(t, nil, def, tt.layer), tt.path, tt.want)
		})
	}
}

// TestDenyDoesNotReopen: a deny of a stronger layer must not take a default
// deny glob away from what a default grants below.
func TestDenyDoesNotReopen(t *testing.T) {
	def := layer(LayerDefault, rule("/w", Write), glob(".git", Deny), rule("/w/.git/objects", Write))
	e := mustDecide(t, nil, def, layer(LayerUser, rule("/w/.git", Deny)))
	wantAccess(t, e, "/w/.git/objects/a", Deny)
}

// TestUserGlobIsAbsolute: what a person denies by pattern, no path re-opens,
// and the grant that has no effect is named.
func TestUserGlobIsAbsolute(t *testing.T) {
	e := mustDecide(t, nil,
		layer(LayerDefault, rule(":project", Write)),
		layer(LayerUser, glob("**/secret", Deny)),
		layer(LayerCommandLine, rule("/w/secret/a", Read)))
	wantAccess(t, e, "/w/secret/a", Deny)
	wantWarning(t, e, "/w/secret/a", "**/secret")
}

func TestBadPlaces(t *testing.T) {
	tests := []struct {
		req  FileRequest
		want string
	}{
		{rule("", Read), "the place is empty"},
		{rule("a\x00b", Read), "NUL"},
		{rule(":project/../x", Read), "leaves the place"},
		{rule(":home/a/../../x", Read), "leaves the place"},
		{rule("~bob/x", Read), "another user's home"},
		{rule(":nowhere", Deny), "not a special place"},
		{glob("../x", Deny), `".." is not possible`},
		{glob("/a/../b", Deny), `".." is not possible`},
		{glob("a{b", Deny), "not balanced"},
		{glob("a[]b", Deny), "empty class"},
		{glob("a[z-a]b", Deny), "backwards"},
		{glob(`a\`, Deny), `nothing follows`},
		{glob("*.env", Write), "a glob cannot grant"},
		{FileRequest{Place: "/x", Access: 9}, "not known"},
		{FileRequest{Place: "x", Base: "rel", Access: Read}, "base"},
		{glob(strings.Repeat("{a,b}", 20), Deny), "stands for more than"},
		{rule("/"+strings.Repeat("a", 5000), Read), "longer than"},
	}
	for _, tt := range tests {
		_, err := Decide(testScope(), nil, []Layer{layer(LayerUser, tt.req)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.req.Place, err, tt.want)
		}
	}
}

// TestUnknownHome: a deny that cannot be held is an error, a default grant
// that cannot be given is a warning.
func TestUnknownHome(t *testing.T) {
	scope := testScope()
	scope.Home = ""
	if _, err := Decide(scope, nil, []Layer{layer(LayerDefault, rule("~/.ssh", Deny))}); err == nil || !strings.Contains(err.Error(), "set HOME") {
		t.Errorf("deny below an unknown home: error %v, want one that says to set HOME", err)
	}
	e, err := Decide(scope, nil, []Layer{layer(LayerDefault, rule("~/.cache", Read))})
	if err != nil || len(e.Rules) != 0 || len(e.Warnings) != 1 {
		t.Errorf("grant below an unknown home: %v, %v, want one warning", e, err)
	}
}

// TestHomeAsProject: $HOME, what holds it, and / get no write by default.
func TestHomeAsProject(t *testing.T) {
	for _, project := range []string{"/", "/home", "/home/u"} {
		scope := testScope()
		scope.Project = project
		def := Defaults(Agent)
		_, err := Decide(scope, nil, []Layer{def})
		var req *RequestError
		if !errors.As(err, &req) || !strings.Contains(req.Hint, "--write "+project) {
			t.Errorf("project %s: error %v, want a hint to --write", project, err)
		}
		if _, err := Decide(scope, nil, []Layer{def, layer(LayerCommandLine, rule(project, Write))}); err != nil {
			t.Errorf("project %s with --write: %v", project, err)
		}
		if _, err := Decide(scope, nil, []Layer{def, layer(LayerProject, rule(":project", Read))}); err != nil {
			t.Errorf("project %s made read-only: %v", project, err)
		}
	}
	scope := testScope()
	scope.Project = "/home/u/p"
	if _, err := Decide(scope, nil, []Layer{Defaults(Agent)}); err != nil {
		t.Errorf("a project below home: %v", err)
	}
}

func TestHomeModes(t *testing.T) {
	tool := FileRequest{Place: "~/.nvm", Access: Read, MinHome: HomeToolchains}
	for mode, want := range map[HomeMode][2]Access{
		HomeNone: {Unset, Unset}, HomeToolchains: {Read, Unset}, HomeFull: {Read, Read},
	} {
		l := layer(LayerDefault, tool)
		l.Request.Home = &Value[HomeMode]{V: mode}
		e := mustDecide(t, nil, l)
		wantAccess(t, e, "/home/u/.nvm/x", want[0])
		wantAccess(t, e, "/home/u/notes", want[1])
	}
}

// TestManyRules: 10,000 rules decide and a lookup does not read them all.
func TestManyRules(t *testing.T) {
	var files []FileRequest
	for i := range 10000 {
		files = append(files, rule(fmt.Sprintf("/w/d%d/x", i), Read), glob(fmt.Sprintf("n%d", i), Deny))
	}
	e := mustDecide(t, nil, layer(LayerUser, files...))
	wantAccess(t, e, "/w/d9999/x/y", Read)
	wantAccess(t, e, "/w/d9999/x/n77/z", Deny)
	if n := testing.AllocsPerRun(10, func() { e.Lookup("/w/d9999/x/y/z") }); n > 50 {
		t.Errorf("a lookup among 20,000 rules allocates %v times", n)
	}
	over := make([]FileRequest, MaxRules+1)
	if _, err := Decide(testScope(), nil, []Layer{layer(LayerUser, over...)}); err == nil {
		t.Error("more rules than the limit: want an error")
	}
}

func BenchmarkLookup10000(b *testing.B) {
	var files []FileRequest
	for i := range 10000 {
		files = append(files, rule(fmt.Sprintf("/w/d%d/x", i), Read))
	}
	e := mustDecide(b, nil, layer(LayerUser, files...))
	for b.Loop() {
		e.Lookup("/w/d9999/x/y/z")
	}
}

func wantWarning(t *testing.T, e *Effective, parts ...string) {
	t.Helper()
	for _, w := range e.Warnings {
		ok := true
		for _, p := range parts {
			ok = ok && strings.Contains(w.Source.String()+" "+w.Message, p)
		}
		if ok {
			return
		}
	}
	t.Errorf("warnings %v, want one with %q", e.Warnings, parts)
}
