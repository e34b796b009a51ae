package policy

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func of[T any](v T) *Value[T] { return &Value[T]{V: v} }

func texts(list ...string) (out []Value[string]) {
	for _, s := range list {
		out = append(out, Value[string]{V: s})
	}
	return out
}

func TestCeilingAdvice(t *testing.T) {
	around := Surroundings{File: "/home/u/p/ceiling.json", Home: "/home/u"}
	for _, tt := range []struct {
		name string
		c    Ceiling
		want []string // parts of each message, in order
	}{
		{"open", Ceiling{}, []string{"no limit"}},
		{"a shell", Ceiling{ProgramsAllow: texts("/bin/bash")}, []string{"arbitrary execution"}},
		{"an interpreter with a version", Ceiling{ProgramsAllow: texts("/usr/bin/python3.13")}, []string{"an interpreter"}},
		{"a package runner by name", Ceiling{ProgramsAllow: texts("npm")}, []string{"a package runner", "depends on PATH"}},
		{"a plain program", Ceiling{ProgramsAllow: texts("/usr/bin/xeyes")}, nil},
		{"a home", Ceiling{Mounts: []Mount{{HostPath: "/home/u"}}}, []string{"home directory"}},
		{"all homes", Ceiling{Mounts: []Mount{{HostPath: "/home"}}}, []string{"home directory"}},
		{"a place in home", Ceiling{Mounts: []Mount{{HostPath: "/home/u/q", Write: true}}}, nil},
		{"its own file", Ceiling{Mounts: []Mount{{HostPath: "/home/u/p", Write: true}}}, []string{"ceiling's own file"}},
		{"its own file, read", Ceiling{Mounts: []Mount{{HostPath: "/home/u/p"}}}, nil},
		{"its own file, taken out", Ceiling{Mounts: []Mount{{HostPath: "/home/u/p", Write: true}, {HostPath: "/home/u/p/ceiling.json"}}}, nil},
		{"a host under local", Ceiling{Network: of(NetLocal), AllowHosts: texts("example.com")}, []string{"never reached"}},
		{"hosts under open", Ceiling{Network: of(NetOpen), AllowHosts: texts("example.com")}, []string{"filtered at most"}},
	} {
		got := tt.c.Advice(around)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
			continue
		}
		for i, part := range tt.want {
			if !strings.Contains(got[i].Message, part) {
				t.Errorf("%s: %q, want %q in it", tt.name, got[i].Message, part)
			}
		}
	}
}

func TestDiffCeilings(t *testing.T) {
	ports := func(list ...uint16) (out []Value[uint16]) {
		for _, p := range list {
			out = append(out, Value[uint16]{V: p})
		}
		return out
	}
	for _, tt := range []struct {
		name       string
		a, b       Ceiling
		dim        Dimension
		more, less []string
	}{
		{"wider mode", Ceiling{Display: of(DisplayNone)}, Ceiling{Display: of(DisplayVirtual)}, DimDisplay, []string{"virtual"}, nil},
		{"limited", Ceiling{}, Ceiling{Undo: of(UndoNone)}, DimUndo, nil, []string{"no limit"}},
		{"no more limit", Ceiling{Undo: of(UndoNone)}, Ceiling{}, DimUndo, []string{"no limit"}, nil},
		{"programs", Ceiling{ProgramsAllow: texts("git", "make")}, Ceiling{ProgramsAllow: texts("/usr/bin/git", "/bin/ls")}, DimPrograms, []string{"/bin/ls"}, []string{"git", "make"}},
		{"mounts", Ceiling{Mounts: []Mount{{HostPath: "/a"}, {HostPath: "/b", Write: true}}}, Ceiling{Mounts: []Mount{{HostPath: "/a/c", Write: true}, {HostPath: "/b/d"}}}, DimFiles, []string{"read_write /a/c"}, []string{"read_only /a", "read_write /b"}},
		{"ports", Ceiling{Network: of(NetLocal), HostPorts: ports(3000)}, Ceiling{Network: of(NetLocal), HostPorts: ports(4000)}, DimHostPorts, []string{"4000"}, []string{"3000"}},
		{"hosts", Ceiling{AllowHosts: texts("**.example.com")}, Ceiling{AllowHosts: texts("a.example.com", "b.org")}, DimHosts, []string{"b.org"}, []string{"**.example.com"}},
		{"denied hosts", Ceiling{DenyHosts: texts("a.org")}, Ceiling{DenyHosts: texts("b.org")}, DimDenyHosts, []string{"a.org"}, []string{"b.org"}},
		{"later", Ceiling{Expires: of(time.Unix(1e9, 0).UTC())}, Ceiling{Expires: of(time.Unix(2e9, 0).UTC())}, DimExpires, []string{"2033-05-18T03:33:20Z"}, nil},
		{"more memory", Ceiling{Memory: of(int64(10))}, Ceiling{Memory: of(int64(20))}, DimMemory, []string{"20 bytes"}, nil},
	} {
		if d := DiffCeilings(&tt.a, &tt.a); len(d) != 0 {
			t.Errorf("%s: differs from itself: %+v", tt.name, d)
		}
		diff := DiffCeilings(&tt.a, &tt.b)
		i := slices.IndexFunc(diff, func(c CeilingChange) bool { return c.Dimension == tt.dim })
		if i < 0 || !slices.Equal(diff[i].More, tt.more) || !slices.Equal(diff[i].Less, tt.less) {
			t.Errorf("%s: %+v, want more %q, less %q", tt.name, diff, tt.more, tt.less)
		}
	}
}

// TestCeilingsTogether holds that of several the narrowest counts, in each dimension.
func TestCeilingsTogether(t *testing.T) {
	early, late := time.Unix(1e9, 0), time.Unix(2e9, 0)
	c := &Ceiling{Expires: of(late), Undo: of(UndoPreview), Also: []*Ceiling{{Expires: of(early), Network: of(NetClosed)}, {Undo: of(UndoNone)}}}
	scope := Scope{Cwd: "/p", Project: "/p"}
	got, err := Decide(scope, c, []Layer{Defaults(Agent)})
	if err != nil {
		t.Fatal(err)
	}
	if got.Undo != UndoNone || !got.Expires.Equal(early) || got.Network != NetClosed {
		t.Errorf("undo %s, expires %s, network %s", got.Undo, got.Expires, got.Network)
	}
	ask := Layer{Kind: LayerCommandLine, Request: Request{Network: of(NetLocal)}}
	if _, err := Decide(scope, c, []Layer{Defaults(Agent), ask}); len(Refusals(err)) != 1 || Refusals(err)[0].Allowed != "closed" {
		t.Errorf("%v, want a refusal by the second ceiling", err)
	}
	if c.Also[0].Restricted() && (*Ceiling)(nil).Restricted() || new(Ceiling).Restricted() || !c.Restricted() {
		t.Error("none, open and limiting are told apart wrongly")
	}
	if resolved, _ := Canonical(scope, &Ceiling{Also: []*Ceiling{{Mounts: []Mount{{HostPath: "/link"}}}}}, nil, func(string) string { return "/real" }); resolved.Also[0].Mounts[0].HostPath != "/real" {
		t.Error("a mount of a further ceiling is not resolved")
	}
}
