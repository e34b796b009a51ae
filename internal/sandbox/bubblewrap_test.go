package sandbox

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/pathname"
	"carrel/internal/policy"

	"pgregory.net/rapid"
)

// hostWith is a host that has the paths, and what is above them.
func hostWith(paths ...string) looker {
	return func(p string) (place, error) {
		for i, h := range paths {
			if pathname.Within(h, p) {
				return place{there: true, dev: 7, ino: uint64(i + 1)}, nil
			}
		}
		return place{}, nil
	}
}

func TestBubblewrapArguments(t *testing.T) {
	desk := Mount{Kind: MountBind, Target: "/p", Source: "/p", Dir: true}
	tests := []struct {
		name   string
		mounts []Mount
		want   string // of the arguments between the namespaces and the last freezes
	}{
		{"a fresh procfs", []Mount{{Kind: MountProc, Target: "/proc"}}, "--proc /proc"},
		{"devices at once", []Mount{
			{Kind: MountTmpfs, Target: "/dev", Perm: 0o755}, {Kind: MountDevice, Target: "/dev/null", Source: "/dev/null"}, {Kind: MakeSymlink, Target: "/dev/fd", Source: "/proc/self/fd"},
			{Kind: MountPts, Target: "/dev/pts"}, {Kind: MountTmpfs, Target: "/dev/shm", Perm: 0o1777}, {Kind: Freeze, Target: "/dev"},
		}, "--dev /dev --perms 1777 --tmpfs /dev/shm --remount-ro /dev"},
		{"the terminal", []Mount{{Kind: MountDevice, Target: "/dev/console", Source: "/p/tty"}}, "--dev-bind /p/tty /dev/console"},
		{"a terminal that is gone", []Mount{{Kind: MountDevice, Target: "/dev/console", Source: "/gone", Optional: true}}, ""},
		{"our own place in /run", []Mount{{Kind: MountTmpfs, Target: "/run", Perm: 0o755}},
			"--perms 0755 --tmpfs /run --perms 0755 --tmpfs /run/carrel --symlink bin/carrel /run/carrel/carrel-stage"},
		{"read-only and not", []Mount{{Kind: MountBind, Target: "/usr", Source: "/usr", ReadOnly: true}, desk}, "--ro-bind /usr /usr --bind /p /p"},
		{"a source that may be missing", []Mount{{Kind: MountBind, Target: "/gone", Source: "/gone", Optional: true}}, ""},
		{"masks", []Mount{desk, {Kind: MountMask, Target: "/p/file"}, {Kind: MountMask, Target: "/p/dir", Dir: true}},
			"--bind /p /p --perms 0000 --ro-bind-data 6 /p/file --perms 0000 --tmpfs /p/dir --remount-ro /p/dir"},
		{"a pin", []Mount{desk, {Kind: MountSelf, Target: "/p/dir"}}, "--bind /p /p --bind /p/dir /p/dir"},
		{"a pin elsewhere than on the host", []Mount{{Kind: MountBind, Target: "/here", Source: "/p"}, {Kind: MountSelf, Target: "/here/dir", ReadOnly: true}}, "--bind /p /here --ro-bind /p/dir /here/dir"},
		{"a pin in memory", []Mount{{Kind: MountTmpfs, Target: "/p", Perm: 0o700}, {Kind: MountSelf, Target: "/p/dir", Optional: true}}, "--perms 0700 --tmpfs /p"},
		{"a cache with something to bind instead", []Mount{{Kind: MountOverlay, Target: "/c", Source: "/c", Spare: "/p/dir"}}, "--bind /p/dir /c"},
		{"a cache without", []Mount{{Kind: MountOverlay, Target: "/usr", Source: "/usr"}}, "--ro-bind /usr /usr"},
		{"generated files", []Mount{{Kind: MountData, Target: "/p/file", Data: []byte("x"), Perm: 0o644}, {Kind: WriteFile, Target: "/m/file", Data: []byte("y"), Perm: 0o600}},
			"--perms 0644 --ro-bind-data 6 /p/file --perms 0600 --file 7 /m/file"},
		{"nothing is made on the host", []Mount{desk, {Kind: MakeSymlink, Target: "/p/link", Source: "/x", Optional: true}, {Kind: WriteFile, Target: "/p/new/file", Optional: true}, {Kind: MountData, Target: "/p/new", Optional: true}}, "--bind /p /p"},
		{"a denied directory with something in it", []Mount{{Kind: MountTmpfs, Target: "/d", Perm: 0o711}, {Kind: Freeze, Target: "/d", Perm: 0o111}}, "--perms 0711 --tmpfs /d --chmod 0111 /d --remount-ro /d"},
	}
	const last = "--remount-ro /run --remount-ro /"
	for _, tt := range tests {
		b, err := bubblewrap(&Plan{Mounts: tt.mounts}, hostWith("/usr", "/p/file", "/p/dir", "/p/tty"))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		all := strings.Join(b.args, " ")
		_, got, _ := strings.Cut(all, "--chdir / ")
		if got = strings.TrimSpace(strings.TrimSuffix(got, last)); got != tt.want || !strings.HasSuffix(all, last) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestBubblewrapNamespaces(t *testing.T) {
	for _, net := range []bool{true, false} {
		b, err := bubblewrap(&Plan{NewNet: net}, everywhere)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--as-pid-1"} {
			if !slices.Contains(b.args, want) {
				t.Errorf("%s is missing in %q", want, b.args)
			}
		}
		if slices.Contains(b.args, "--die-with-parent") {
			t.Error("whoever ends us while bubblewrap starts leaves what it has forked")
		}
		if slices.Contains(b.args, "--unshare-net") != net {
			t.Errorf("own network %v: %q", net, b.args)
		}
	}
}

// TestBubblewrapRefuses: what cannot be done is an error with the path, and with
// the errno that makes a start be tried again.
func TestBubblewrapRefuses(t *testing.T) {
	loop := func(string) (place, error) { return place{}, syscall.ELOOP }
	tests := []struct {
		name  string
		mount Mount
		look  looker
		code  int
	}{
		{"a source that is gone", Mount{Kind: MountBind, Target: "/x", Source: "/gone"}, hostWith("/p"), int(syscall.ENOENT)},
		{"a mask that finds nothing", Mount{Kind: MountMask, Target: "/p/gone"}, hostWith("/p"), int(syscall.ENOENT)},
		{"a link in the way", Mount{Kind: MountMask, Target: "/p/file", Optional: true}, loop, int(syscall.ELOOP)},
		{"a link in the way of what may be missing", Mount{Kind: MountBind, Target: "/x", Source: "/x", Optional: true}, loop, int(syscall.ELOOP)},
		{"an unknown step", Mount{Kind: 99, Target: "/x"}, hostWith("/p"), 0},
		{"a devpts elsewhere", Mount{Kind: MountPts, Target: "/x/pts"}, hostWith("/p"), 0},
	}
	for _, tt := range tests {
		b := &bwrapPlan{look: tt.look, behind: []behind{{"/p", "/p"}}}
		err := b.step(tt.mount)
		var s *SetupError
		if !errors.As(err, &s) || s.Path != tt.mount.Target || s.Code != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestBubblewrapMakesNothingOnTheHost: whatever the plan, and whatever is there,
// each target lies in memory or is there already, and each step that was taken
// is one to check.
func TestBubblewrapMakesNothingOnTheHost(t *testing.T) {
	names := []string{"/a", "/a/b", "/a/b/c", "/d", "/d/e", "/a/x"}
	rapid.Check(t, func(t *rapid.T) {
		there := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "there")
		host := hostWith(there...)
		p := &Plan{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			p.Mounts = append(p.Mounts, Mount{
				Kind:   rapid.SampledFrom([]MountKind{MountBind, MountTmpfs, MountMask, MountData, WriteFile, MakeDir, MakeSymlink, MountSelf, MountOverlay}).Draw(t, "kind"),
				Target: rapid.SampledFrom(names).Draw(t, "target"), Source: rapid.SampledFrom(names).Draw(t, "source"),
				Optional: true, Dir: rapid.Bool().Draw(t, "dir"),
			})
		}
		slices.SortStableFunc(p.Mounts, func(a, b Mount) int { return depth(a.Target) - depth(b.Target) })
		b := &bwrapPlan{look: host}
		for _, m := range p.Mounts {
			before, args := slices.Clone(b.behind), len(b.args)
			if err := b.step(m); err != nil {
				t.Fatal(err)
			}
			if len(b.args) == args {
				continue // left out
			}
			was := &bwrapPlan{behind: before}
			at := m.Target
			if m.Kind == WriteFile || m.Kind == MakeDir || m.Kind == MakeSymlink {
				at = path.Dir(at)
			}
			lies, _ := was.hostOf(at)
			if found, _ := host(lies); lies != "" && !found.there {
				t.Fatalf("%+v would be made at %q, which is not there", m, lies)
			}
		}
	})
}

// TestEngineRefusals is the table of what bubblewrap does not hold.
func TestEngineRefusals(t *testing.T) {
	plain := func() (*policy.Effective, *Plan) {
		return &policy.Effective{Nested: policy.NestedUserns}, &Plan{UID: 1000, GID: 1000}
	}
	masks := func(n int) []Mount {
		m := make([]Mount, n)
		for i := range m {
			m[i] = Mount{Kind: MountMask, Target: "/x"}
		}
		return m
	}
	tests := []struct {
		dimension policy.Dimension
		subject   string
		ask       func(*policy.Effective, *Plan)
	}{
		{"", "", func(*policy.Effective, *Plan) {}},
		{DimUser, "0", func(_ *policy.Effective, p *Plan) { p.UID = 0 }},
		{policy.DimHistory, "on", func(_ *policy.Effective, p *Plan) { p.Roots = []string{"/p"} }},
		{policy.DimNetwork, "filtered", func(_ *policy.Effective, p *Plan) {
			p.Pool, p.Listeners = true, []Listener{{Network: "tcp", Address: Gateway + ":53"}}
		}},
		{policy.DimNetwork, "port 80", func(_ *policy.Effective, p *Plan) {
			p.Listeners = []Listener{{Network: "tcp", Address: "127.0.0.1:8080"}, {Network: "tcp", Address: "[::1]:80"}}
		}},
		{policy.DimNested, "full", func(pol *policy.Effective, _ *Plan) { pol.Nested = policy.NestedFull }},
		{policy.DimPrograms, "allow", func(_ *policy.Effective, p *Plan) { p.Landlock.Limited = true }},
		{policy.DimDevices, "/dev/kvm", func(pol *policy.Effective, _ *Plan) {
			pol.Devices = []policy.Value[string]{{V: "/dev/kvm"}}
		}},
		{policy.DimFiles, "901 generated or masked files", func(_ *policy.Effective, p *Plan) { p.Mounts = masks(901) }},
		{policy.DimFiles, "9022 arguments", func(_ *policy.Effective, p *Plan) {
			for range 3000 {
				p.Mounts = append(p.Mounts, Mount{Kind: MountBind, Target: "/x", Source: "/x"})
			}
		}},
	}
	for _, tt := range tests {
		pol, p := plain()
		tt.ask(pol, p)
		if got := EngineNamespaces.Refusals(pol, p); len(got) != 0 {
			t.Errorf("%s %s: namespaces refuse %v", tt.dimension, tt.subject, got)
		}
		got := EngineBubblewrap.Refusals(pol, p)
		switch {
		case tt.subject == "" && len(got) == 0:
		case len(got) != 1 || got[0].Dimension != tt.dimension || got[0].Why == "" || got[0].Right == "":
			t.Errorf("%s %s: %v", tt.dimension, tt.subject, got)
		case tt.dimension == policy.DimFiles && strings.HasSuffix(tt.subject, "arguments") && strings.HasSuffix(got[0].Subject, "arguments"):
		case got[0].Subject != tt.subject:
			t.Errorf("%s %s: %v", tt.dimension, tt.subject, got)
		}
	}
	if len(EngineBubblewrap.Weaker(true)) == 0 || len(EngineBubblewrap.Weaker(false)) <= len(EngineBubblewrap.Weaker(true)) || EngineNamespaces.Weaker(true) != nil {
		t.Error("what is weaker is not said")
	}
}
