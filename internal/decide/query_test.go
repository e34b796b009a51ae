package decide

import (
	"testing"

	"carrel/internal/sandbox"
)

func TestHolder(t *testing.T) {
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MountTmpfs, Target: "/h"},
		{Kind: sandbox.MountBind, Target: "/h/p", Source: "/h/p"},
		{Kind: sandbox.WriteFile, Target: "/h/.profile"},
		{Kind: sandbox.MountMask, Target: "/h/p/key"},
		{Kind: sandbox.MountSelf, Target: "/h/p"},
		{Kind: sandbox.MakeSymlink, Target: "/bin", Source: "usr/bin"},
		{Kind: sandbox.Freeze, Target: "/h/p/key"},
	}}
	tests := []struct {
		path string
		want sandbox.MountKind // 0: nothing
	}{
		{"/h/x", sandbox.MountTmpfs},
		{"/h/.profile", sandbox.WriteFile},
		{"/h/.profile/x", sandbox.MountTmpfs},
		{"/h/p/src", sandbox.MountSelf}, // the last at one place
		{"/h/pp", sandbox.MountTmpfs},   // not below /h/p
		{"/h/p/key", sandbox.MountMask}, // a freeze holds nothing
		{"/bin", sandbox.MakeSymlink},
		{"/bin/x", 0},
		{"/elsewhere", 0},
	}
	for _, tt := range tests {
		var got sandbox.MountKind
		if m := holder(plan, tt.path); m != nil {
			got = m.Kind
		}
		if got != tt.want {
			t.Errorf("%s: got kind %d, want %d", tt.path, got, tt.want)
		}
	}
}
