package sandbox

import (
	"reflect"
	"testing"
)

// TestInContainer: a container gets each outermost source once, writable where anything in
// it is written, and the person's terminal; other devices are its own, and the plan finds all of them below one directory.
func TestInContainer(t *testing.T) {
	given := []Mount{
		{Kind: MountTmpfs, Target: "/home/a"},
		{Kind: MountBind, Source: "/home/a/p", Target: "/home/a/p", Ino: 7},
		{Kind: MountBind, Source: "/home/a/p/kept", Target: "/home/a/p/kept", ReadOnly: true},
		{Kind: MountBind, Source: "/srv/shown", Target: "/srv/shown", ReadOnly: true},
		{Kind: MountBind, Source: "/srv/shown/open", Target: "/srv/shown/open"},
		{Kind: MountBind, Source: "/usr/bin/carrel", Target: SelfPath, ReadOnly: true},
		{Kind: MountDevice, Source: "/dev/null", Target: "/dev/null"},
		{Kind: MountDevice, Source: "/dev/pts/7", Target: ConsolePath},
	}
	mounts, binds := inContainer(given)
	want := []HostBind{
		{"/dev/pts/7", containerHost + "/dev/pts/7", true},
		{"/home/a/p", containerHost + "/home/a/p", false},
		{"/srv/shown", containerHost + "/srv/shown", false},
		{"/usr/bin/carrel", containerHost + "/usr/bin/carrel", true},
	}
	if !reflect.DeepEqual(binds, want) {
		t.Errorf("binds %v, want %v", binds, want)
	}
	for i, m := range mounts {
		source := given[i].Source
		if m.Kind == MountBind || m.Target == ConsolePath {
			source = containerHost + source
		}
		if m.Source != source || m.Target != given[i].Target || m.Ino != given[i].Ino {
			t.Errorf("step %d: %+v, of %+v", i, m, given[i])
		}
	}
	if given[1].Source != "/home/a/p" {
		t.Error("the plan itself was changed")
	}
}
