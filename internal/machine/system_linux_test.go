package machine

import (
	"testing"

	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// TestSystem: what a plan binds is served: roots, what is not recorded, and what is read. Whatever the
// kernel of a machine asks, what is read is not changed, and what is masked or denied is not read.
func TestSystem(t *testing.T) {
	dir := t.TempDir()
	plan := &sandbox.Plan{Roots: []string{"/p"}, Mounts: []sandbox.Mount{
		{Kind: sandbox.MountBind, Target: sandbox.SelfPath, Source: "/opt/carrel", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/usr/bin/xdg-open", Source: "/opt/carrel", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/usr", Source: "/usr", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/absent", Source: dir + "/absent", ReadOnly: true, Optional: true},
		{Kind: sandbox.MountMask, Target: "/usr/secret"},
		{Kind: sandbox.MountBind, Target: "/p", Source: "/p"},
		{Kind: sandbox.MountBind, Target: "/p/carrel.yaml", Source: "/p/carrel.yaml", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/home/u/.claude", Source: "/state/claude"},
		{Kind: sandbox.MountOverlay, Target: "/home/u/.cache", Source: "/home/u/.cache"},
		{Kind: sandbox.MountTmpfs, Target: "/tmp"},
	}}
	s, roots, apart := systemOf(plan)
	if len(roots) != 1 || roots[0].Guest != "/p" || len(apart) != 1 || apart[0].Host != "/state/claude" || len(s.kept) != 3 {
		t.Errorf("%+v %+v %+v", roots, apart, s.kept)
	}
	r := &Run{system: s, home: apart, Policy: &policy.Effective{},
		Hidden: func() []string { return nil }, Came: func(string) bool { return false }}
	r.masks = map[string]bool{"/usr/secret": true}
	for path, want := range map[string]struct{ reads, masked bool }{
		"/usr/bin/ls": {true, false}, "/usr/secret": {true, true}, "/p/carrel.yaml": {true, false}, "/p/f": {false, true},
		"/home/u/.cache/x": {true, false}, "/state/claude/x": {false, false}, "/etc/shadow": {false, true}, "/usrx": {false, true},
	} {
		if s.reads(path) != want.reads || r.masked(path) != want.masked {
			t.Errorf("%s: read %t, masked %t", path, s.reads(path), r.masked(path))
		}
		v := homeApart{r}
		if !want.reads {
			continue
		}
		for _, op := range []string{broker.OpOpen, broker.OpUnlink, broker.OpCreate} {
			if v.Decide(&broker.Change{Op: op, Path: path}).Allowed {
				t.Errorf("%s of %s is allowed", op, path)
			}
		}
		if v.Decide(&broker.Change{Op: broker.OpRename, Path: "/p/f", To: path}).Allowed {
			t.Errorf("a rename to %s is allowed", path)
		}
		if !v.Decide(&broker.Change{Op: broker.OpRead, Path: path}).Allowed {
			t.Errorf("%s is not read", path)
		}
	}
}
