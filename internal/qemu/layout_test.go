package qemu

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/guestinit"
	"carrel/internal/sandbox"
)

// TestSteps: a machine makes what a plan shows, above before below. What hides and keeps names is done by
// what serves files; what a machine has itself is left out.
func TestSteps(t *testing.T) {
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MountProc, Target: "/proc"},
		{Kind: sandbox.MountTmpfs, Target: "/dev"},
		{Kind: sandbox.MakeSymlink, Target: "/dev/fd", Source: "/proc/self/fd"},
		{Kind: sandbox.MountTmpfs, Target: "/run", Perm: 0o755},
		{Kind: sandbox.MountBind, Target: sandbox.SelfPath, Source: "/usr/bin/carrel", ReadOnly: true},
		{Kind: sandbox.MountBind, Target: "/usr", Source: "/usr", ReadOnly: true},
		{Kind: sandbox.MakeSymlink, Target: "/bin", Source: "usr/bin"},
		{Kind: sandbox.MountTmpfs, Target: "/home/u", Perm: 0o700},
		{Kind: sandbox.MountTmpfs, Target: "/tmp", Perm: 0o1777},
		{Kind: sandbox.MountMask, Target: "/home/u/p/.env"},
		{Kind: sandbox.MountBind, Target: "/home/u/p", Source: "/home/u/p"},
		{Kind: sandbox.MountSelf, Target: "/home/u/p/.git"},
		{Kind: sandbox.MountOverlay, Target: "/home/u/.cache", Source: "/home/u/.cache"},
		{Kind: sandbox.MountData, Target: "/etc/passwd", Data: []byte("x")},
		{Kind: sandbox.WriteFile, Target: "/home/u/.gitconfig", Data: []byte("[user]"), Perm: 0o644},
		{Kind: sandbox.MountBind, Target: "/usr/bin/xdg-open", Source: "/usr/bin/carrel", ReadOnly: true},
		{Kind: sandbox.Freeze, Target: "/dev"},
	}}
	served := map[string]string{"/home/u/p": "0", "/usr": "1", "/home/u/.cache": "2", "/home/u/.claude": "3/x"}
	got := ""
	for _, s := range steps(plan, served) {
		got += fmt.Sprintf("%s %s %s %o", s.Kind, s.To, s.From, s.Perm)
		for word, is := range map[string]bool{" ro": s.ReadOnly, " own": s.Own, " " + string(s.Data): len(s.Data) > 0} {
			if is {
				got += word
			}
		}
		got += "\n"
	}
	want := []string{
		"link /bin usr/bin 0", "memory /tmp  1777", "bind /usr 1 0 ro", "memory /home/u  700 own",
		"bind /home/u/.cache 2 0", "overlay /home/u/.cache  0", "bind /home/u/.claude 3/x 0", "file /home/u/.gitconfig  644 [user]",
		"bind /home/u/p 0 0", "bind /usr/bin/xdg-open " + guestinit.Program + " 0",
	}
	if got != strings.Join(want, "\n")+"\n" {
		t.Errorf("%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if len(served) != 4 {
		t.Error("what is served was changed")
	}
}

// TestOwnPaths: a machine makes the kernel's directories itself, and the names by which programs find the supervisor.
func TestOwnPaths(t *testing.T) {
	for path, own := range map[string]bool{
		"/proc": true, "/sys/x": true, "/dev/shm": true, "/run/carrel/bin/xdg-open": true,
		"/process": false, "/run/user/1000": false, "/usr": false, "/": false,
	} {
		if Own(path) != own {
			t.Errorf("%s: %t", path, !own)
		}
	}
}
