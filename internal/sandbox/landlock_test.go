package sandbox

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/pathname"
	"carrel/internal/policy"

	"pgregory.net/rapid"
)

// aloneOn translates steps, with a private directory /P, and tells what came of it:
// grants (! to be written, @ devices), what is hidden with a minus, what is made.
func aloneOn(mounts ...Mount) (*alonePlan, string) {
	a := alone(&Plan{Private: "/P", Mounts: mounts})
	var words []string
	for _, g := range a.grants {
		switch {
		case g.Data || g.Path == "/P":
		case g.Device:
			words = append(words, "@"+g.Path)
		case g.Write:
			words = append(words, "!"+g.Path)
		default:
			words = append(words, g.Path)
		}
	}
	for _, h := range a.hidden {
		words = append(words, "-"+h)
	}
	for _, m := range a.made {
		switch m.Kind {
		case MakeDir:
			words = append(words, m.Target+"/")
		case MakeSymlink:
			words = append(words, m.Target+"->"+m.Source)
		default:
			words = append(words, m.Target+"="+string(m.Data))
		}
	}
	if a.kept != "" {
		words = append(words, "KEPT", a.kept)
	}
	if a.moved != "" {
		words = append(words, "MOVED", a.moved)
	}
	return a, strings.Join(words, " ")
}

func TestAlonePlan(t *testing.T) {
	desk, home := Mount{Kind: MountBind, Target: "/h/p", Source: "/h/p"}, Mount{Kind: MountTmpfs, Target: "/h"}
	etc := Mount{Kind: MountBind, Target: "/etc", Source: "/etc", ReadOnly: true}
	self := Mount{Kind: MountBind, Target: SelfPath, Source: "/opt/carrel", ReadOnly: true}
	tests := []struct {
		name   string
		mounts []Mount
		want   string
	}{
		{"what is granted", []Mount{etc, desk}, "/etc !/h/p"},
		{"home is elsewhere, and leads to what is shown in it", []Mount{home, desk}, "!/h/p /P/h/ /P/h/p->/h/p"},
		{"a home in /tmp", []Mount{{Kind: MountTmpfs, Target: "/tmp"}, {Kind: MountTmpfs, Target: "/tmp/h"}}, "/P/tmp/ /P/tmp/h/"},
		{"generated files and links at home", []Mount{home, {Kind: WriteFile, Target: "/h/.rc", Data: []byte("x")}, {Kind: MountData, Target: "/h/.b", Data: []byte("y")}, {Kind: MakeSymlink, Target: "/h/l", Source: "/x"}, {Kind: MakeDir, Target: "/h/d"}},
			"/P/h/ /P/h/.rc=x /P/h/.b=y /P/h/l->/x /P/h/d/"},
		{"nothing stands in for /dev, /run and procfs", []Mount{{Kind: MountTmpfs, Target: "/dev"}, {Kind: MountTmpfs, Target: "/dev/shm"}, {Kind: MountTmpfs, Target: "/run"}, {Kind: MountProc, Target: "/proc"}, {Kind: MountPts, Target: "/dev/pts"}, {Kind: Freeze, Target: "/dev"}}, ""},
		{"devices", []Mount{{Kind: MountDevice, Target: "/dev/null", Source: "/dev/null"}}, "@/dev/null"},
		{"a mask below what is read", []Mount{etc, {Kind: MountMask, Target: "/etc/s"}}, "/etc -/etc/s"},
		{"a mask in nothing", []Mount{{Kind: MountMask, Target: "/etc/s"}}, ""},
		{"a mask at home", []Mount{home, {Kind: MountMask, Target: "/h/s"}}, "/P/h/"},
		{"a mask below what is written", []Mount{desk, {Kind: MountMask, Target: "/h/p/s"}}, "!/h/p KEPT /h/p/s"},
		{"a mask below what is written, by a link of home", []Mount{home, desk, {Kind: MountMask, Target: "/h/p/s"}}, "!/h/p /P/h/ /P/h/p->/h/p KEPT /h/p/s"},
		{"read-only below what is written", []Mount{desk, {Kind: MountBind, Target: "/h/p/r", Source: "/h/p/r", ReadOnly: true}}, "!/h/p KEPT /h/p/r"},
		{"to be written below what is read", []Mount{etc, {Kind: MountBind, Target: "/etc/w", Source: "/etc/w"}}, "/etc !/etc/w"},
		{"a name to be kept", []Mount{desk, {Kind: MountSelf, Target: "/h/p/d"}}, "!/h/p KEPT /h/p/d"},
		{"a name to be kept in what is read", []Mount{etc, {Kind: MountSelf, Target: "/etc/d"}}, "/etc"},
		{"something private below what is written", []Mount{desk, {Kind: MountTmpfs, Target: "/h/p/t"}}, "!/h/p /P/h/p/t/ KEPT /h/p/t"},
		{"a denied directory with something in it", []Mount{{Kind: MountBind, Target: "/d", Source: "/d", ReadOnly: true}, {Kind: MountTmpfs, Target: "/d/x"}, {Kind: MountBind, Target: "/d/x/y", Source: "/d/x/y", ReadOnly: true}, {Kind: Freeze, Target: "/d/x"}}, "/d /d/x/y -/d/x"},
		{"the system's own settings", []Mount{etc, {Kind: MountData, Target: "/etc/passwd"}}, "/etc"},
		{"a file of the user that would be covered", []Mount{{Kind: MountBind, Target: "/h", Source: "/h", ReadOnly: true}, {Kind: MountData, Target: "/h/.npmrc"}}, "/h -/h/.npmrc"},
		{"a file in the project that would be covered", []Mount{desk, {Kind: MountData, Target: "/h/p/f"}}, "!/h/p KEPT /h/p/f"},
		{"a cache with a directory of its own", []Mount{home, {Kind: MountOverlay, Target: "/h/.c", Source: "/h/.c", Spare: "/s/c"}}, "!/s/c /P/h/ /P/h/.c->/s/c"},
		{"a cache of the host's", []Mount{home, {Kind: MountOverlay, Target: "/h/.c", Source: "/h/.c"}}, "/h/.c /P/h/ /P/h/.c->/h/.c"},
		{"our own program in another's place", []Mount{self, {Kind: MountBind, Target: "/usr/bin/open", Source: "/opt/carrel", ReadOnly: true}}, ""},
		{"another place", []Mount{{Kind: MountBind, Target: "/here", Source: "/there", ReadOnly: true}}, "MOVED /here"},
	}
	for _, tt := range tests {
		if _, got := aloneOn(tt.mounts...); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestAloneNarrows: whatever the steps are, what is denied or read-only is in no
// grant that is wider, or it is said that it cannot be held.
func TestAloneNarrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/a/d", "/h", "/h/a", "/h/a/b"})
		var mounts []Mount
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			m := Mount{Kind: rapid.SampledFrom([]MountKind{MountBind, MountTmpfs, MountMask, MountSelf, MountData}).Draw(t, "kind"), Target: at.Draw(t, "at"), ReadOnly: rapid.Bool().Draw(t, "ro")}
			if !slices.ContainsFunc(mounts, func(o Mount) bool { return o.Target == m.Target }) {
				m.Source = m.Target
				mounts = append(mounts, m)
			}
		}
		slices.SortStableFunc(mounts, func(a, b Mount) int { return depth(a.Target) - depth(b.Target) })
		a, got := aloneOn(mounts...)
		for i, m := range mounts {
			last := !slices.ContainsFunc(mounts[i+1:], func(o Mount) bool { return pathname.Within(m.Target, o.Target) })
			if !last || a.kept != "" {
				continue
			}
			hidden := slices.ContainsFunc(a.hidden, func(h string) bool { return pathname.Within(m.Target, h) })
			switch {
			case m.Kind == MountMask && (a.writes(m.Target) || a.granted(m.Target, false) && !hidden):
				t.Fatalf("%v: the mask at %s is open: %s", mounts, m.Target, got)
			case m.Kind == MountBind && m.ReadOnly && a.writes(m.Target):
				t.Fatalf("%v: %s can be written: %s", mounts, m.Target, got)
			}
		}
	})
}

func TestAloneCommand(t *testing.T) {
	a, _ := aloneOn(Mount{Kind: MountTmpfs, Target: "/h"}, Mount{Kind: MountBind, Target: "/h/p", Source: "/h/p"}, Mount{Kind: MountBind, Target: "/h/bin", Source: "/s/bin"})
	got := a.command(Command{Argv: []string{"/h/x"}, Dir: "/h/p/sub", Path: "/h/bin/tool", Env: []string{"HOME=/h", "PATH=/usr/bin:/h/bin:/h/p/bin:rel", "X=--at=/h", "E="}})
	want := "/h/p/sub /s/bin/tool /h/x HOME=/P/h PATH=/usr/bin:/s/bin:/h/p/bin:rel X=--at=/h E="
	if all := strings.Join(append([]string{got.Dir, got.Path, got.Argv[0]}, got.Env...), " "); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// TestAloneWithBroker: what a broker changes is read by Landlock's rules, and what
// mounts would keep is the broker's to keep.
func TestAloneWithBroker(t *testing.T) {
	p := &Plan{Private: "/P", Roots: []string{"/p"}, Mounts: []Mount{
		{Kind: MountBind, Target: "/p", Source: "/p"}, {Kind: MountBind, Target: "/w", Source: "/w"},
		{Kind: MountBind, Target: "/p/r", Source: "/p/r", ReadOnly: true}, {Kind: MountSelf, Target: "/p/d"},
	}}
	a := alone(p)
	var written []string
	for _, g := range a.forLandlock() {
		if g.Write {
			written = append(written, g.Path)
		}
	}
	whole, names := Guarded(p)
	if got := strings.Join(written, " ") + "; " + strings.Join(whole, " ") + "; " + strings.Join(names, " "); got != "/P /w; /p/r; /p/d" || a.kept != "" {
		t.Errorf("written; whole; names: %q, %q", got, a.kept)
	}
}

func TestLandlockRefusals(t *testing.T) {
	good := func() (*policy.Effective, *Plan) {
		return &policy.Effective{Network: policy.NetClosed, Display: policy.DisplayNone, Nested: policy.NestedUserns}, &Plan{UID: 1000}
	}
	written := []Mount{{Kind: MountBind, Target: "/p", Source: "/p"}, {Kind: MountMask, Target: "/p/.env"}}
	asked := []policy.Reason{{Dimension: policy.DimNested, Source: policy.Source{Layer: policy.LayerCommandLine}}}
	tests := []struct {
		change func(*policy.Effective, *Plan)
		want   string
	}{
		{func(*policy.Effective, *Plan) {}, ""},
		{func(e *policy.Effective, _ *Plan) { e.Network = policy.NetOpen }, ""},
		{func(_ *policy.Effective, p *Plan) { p.UID = 0 }, "user 0"},
		{func(_ *policy.Effective, p *Plan) { p.Roots = []string{"/p"} }, ""},
		{func(_ *policy.Effective, p *Plan) { p.Roots, p.Reads = []string{"/p"}, true }, "files what a pattern denies"},
		{func(_ *policy.Effective, p *Plan) { p.Roots, p.Mounts = []string{"/p"}, written }, "files below what is written: /p/.env"},
		{func(e *policy.Effective, _ *Plan) { e.Network = policy.NetLocal }, "network local"},
		{func(e *policy.Effective, _ *Plan) { e.Network = policy.NetFiltered }, "network filtered"},
		{func(e *policy.Effective, _ *Plan) { e.UnixSockets = []policy.Value[string]{{V: "/s"}} }, "network socket /s"},
		{func(e *policy.Effective, _ *Plan) { e.Display = policy.DisplayHost }, "display host"},
		{func(e *policy.Effective, _ *Plan) { e.Nested = policy.NestedFull }, "nested full"},
		{func(e *policy.Effective, _ *Plan) { e.Reasons = asked }, "nested userns"},
		{func(e *policy.Effective, _ *Plan) { e.Reasons, e.Nested = asked, policy.NestedNone }, ""},
		{func(_ *policy.Effective, p *Plan) { p.Landlock.Limited = true }, "programs allow"},
		{func(_ *policy.Effective, p *Plan) { p.NProc = 5 }, "pids limit of processes"},
		{func(_ *policy.Effective, p *Plan) { p.Mounts = written }, "files below what is written: /p/.env"},
		{func(_ *policy.Effective, p *Plan) { p.Mounts = []Mount{{Kind: MountBind, Target: "/a", Source: "/b"}} }, "files at another place: /a"},
	}
	for _, tt := range tests {
		e, p := good()
		tt.change(e, p)
		var got []string
		for _, r := range EngineLandlock.Refusals(e, p) {
			got = append(got, string(r.Dimension)+" "+r.Subject)
			if r.Why == "" || r.Right == "" {
				t.Errorf("%s has no reason or nothing that would be right", r)
			}
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("refused: %q, want %q", got, tt.want)
		}
	}
}
