package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// nothingKnown are facts of a machine that only has directories.
type nothingKnown struct{}

func (nothingKnown) Resolve(p string) (string, Kind)       { return p, KindDir }
func (nothingKnown) Identity(p string) (dev, inode uint64) { return 1, uint64(len(p)) }

// TestCompileOpen: every entry of the host is there once as it is, what the workspace has
// of its own is not overlaid with it, and roots and masks come after all of it.
func TestCompileOpen(t *testing.T) {
	p := CompileOpen(OpenInput{
		UID: 1, GID: 2, Pids: 3, Self: "/usr/bin/carrel", Helpers: []string{"carrel-file"},
		Entries: []Entry{{Path: "/bin", Link: "usr/bin"}, {Path: "/dev", Dir: true}, {Path: "/home", Dir: true}, {Path: "/proc", Dir: true}, {Path: "/run", Dir: true},
			{Path: "/swap"}, {Path: "/run/carrel", Dir: true}, {Path: "/run/docker.sock"}, {Path: "/run/user", Dir: true}},
		Roots: []string{"/home/u/p/sub", "/home/u/p"}, Hidden: []string{"/home/u/.state"},
	}, nothingKnown{})
	var got []string
	for _, m := range p.Mounts {
		got = append(got, fmt.Sprintf("%d %s %s", m.Kind, m.Target, m.Source))
	}
	want := []string{
		fmt.Sprintf("%d /proc ", MountProc), fmt.Sprintf("%d /run ", MountTmpfs), fmt.Sprintf("%d /bin usr/bin", MakeSymlink),
		fmt.Sprintf("%d /dev /dev", MountHost), fmt.Sprintf("%d /home /home", MountHost), fmt.Sprintf("%d /swap /swap", MountHost),
		fmt.Sprintf("%d /run/docker.sock /run/docker.sock", MountHost), fmt.Sprintf("%d /run/user /run/user", MountHost),
		fmt.Sprintf("%d %s /usr/bin/carrel", MountBind, SelfPath), fmt.Sprintf("%d /run/carrel/bin/carrel-file %s", MakeSymlink, SelfPath),
		fmt.Sprintf("%d /home/u/p /home/u/p", MountBind), fmt.Sprintf("%d /home/u/.state ", MountMask),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Engine != EngineNone || p.NewNet || p.Loopback || p.Landlock.Files || p.Landlock.Scopes || len(p.UserLimits) > 0 || p.NProc != 3 || !slices.Equal(p.Roots, []string{"/home/u/p"}) {
		t.Errorf("the plan is %+v", p)
	}
	if refused := EngineNone.Refusals(nil, p); len(refused) > 0 {
		t.Errorf("refused: %v", refused)
	}
	if refused := EngineNone.Refusals(nil, CompileOpen(OpenInput{Roots: []string{"/home", "/"}}, nothingKnown{})); len(refused) != 1 {
		t.Errorf("all of the machine as a root: %v", refused)
	}
}

// TestOpenHidesNothing: whatever the host has, nothing of it is shown at another place, is
// read-only, or is covered by something that is not carrel's own.
func TestOpenHidesNothing(t *testing.T) {
	name := rapid.StringMatching(`[a-z]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		var in OpenInput
		for _, n := range rapid.SliceOfDistinct(name, rapid.ID).Draw(t, "top") {
			in.Entries = append(in.Entries, Entry{Path: "/" + n, Dir: rapid.Bool().Draw(t, "dir")})
		}
		for _, n := range rapid.SliceOfDistinct(name, rapid.ID).Draw(t, "run") {
			in.Entries = append(in.Entries, Entry{Path: "/run/" + n, Dir: true})
		}
		for range rapid.IntRange(0, 3).Draw(t, "roots") {
			in.Roots = append(in.Roots, "/"+name.Draw(t, "a")+"/"+name.Draw(t, "b"))
		}
		roots := slices.Clone(in.Roots)
		p := CompileOpen(in, nothingKnown{})
		if !slices.Equal(in.Roots, roots) {
			t.Fatal("the input was changed")
		}
		shown := make(map[string]bool)
		for _, m := range p.Mounts {
			if m.Kind == MountHost && (m.ReadOnly || m.Source != m.Target || shown[m.Target]) {
				t.Fatalf("not as it is: %+v", m)
			}
			if m.Kind == MountTmpfs && m.Target != "/run" || m.Kind == MountMask {
				t.Fatalf("something is covered: %+v", m)
			}
			shown[m.Target] = true
		}
		for _, e := range in.Entries {
			if !slices.Contains(Own, e.Path) && !shown[e.Path] {
				t.Fatalf("%s is missing", e.Path)
			}
		}
		for _, r := range roots {
			for at := r; !slices.Contains(p.Roots, at); at = path.Dir(at) {
				if at == "/" {
					t.Fatalf("%s is not recorded", r)
				}
			}
		}
	})
}
