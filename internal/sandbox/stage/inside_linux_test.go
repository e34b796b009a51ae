package stage

import (
	"testing"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestWhatBubblewrapMadeIsChecked: each thing that may be wrong with a mount is
// an error, and what is right is none.
func TestWhatBubblewrapMadeIsChecked(t *testing.T) {
	const (
		usual = unix.ST_NOSUID | unix.ST_NODEV
		ro    = usual | unix.ST_RDONLY
		dir   = unix.S_IFDIR
		file  = unix.S_IFREG
	)
	bind := sandbox.Mount{Kind: sandbox.MountBind, Dev: 7, Ino: 9}
	shown := sandbox.Mount{Kind: sandbox.MountBind, Dev: 7, Ino: 9, ReadOnly: true}
	mask, hidden := sandbox.Mount{Kind: sandbox.MountMask}, sandbox.Mount{Kind: sandbox.MountMask, Dir: true}
	data := sandbox.Mount{Kind: sandbox.MountData, Data: []byte("four")}
	tests := []struct {
		name  string
		mount sandbox.Mount
		st    unix.Stat_t
		flags int64
		kind  int64
		fine  bool
	}{
		{"a bind", bind, unix.Stat_t{Dev: 7, Ino: 9, Mode: dir | 0o755}, usual, 0, true},
		{"a bind that is read-only though it need not be", bind, unix.Stat_t{Dev: 7, Ino: 9}, ro, 0, true},
		{"another inode", bind, unix.Stat_t{Dev: 7, Ino: 8}, usual, 0, false},
		{"another file system", bind, unix.Stat_t{Dev: 6, Ino: 9}, usual, 0, false},
		{"set-user-id programs", bind, unix.Stat_t{Dev: 7, Ino: 9}, unix.ST_NODEV, 0, false},
		{"devices", bind, unix.Stat_t{Dev: 7, Ino: 9}, unix.ST_NOSUID, 0, false},
		{"read-only", shown, unix.Stat_t{Dev: 7, Ino: 9}, ro, 0, true},
		{"writable", shown, unix.Stat_t{Dev: 7, Ino: 9}, usual, 0, false},
		{"a masked file", mask, unix.Stat_t{Mode: file}, ro, 0, true},
		{"a masked file with content", mask, unix.Stat_t{Mode: file, Size: 1}, ro, 0, false},
		{"a masked file with a mode", mask, unix.Stat_t{Mode: file | 0o400}, ro, 0, false},
		{"a masked file that can be written", mask, unix.Stat_t{Mode: file}, usual, 0, false},
		{"a directory instead of a masked file", mask, unix.Stat_t{Mode: dir}, ro, 0, false},
		{"a masked directory", hidden, unix.Stat_t{Mode: dir, Size: 40}, ro, 0, true},
		{"a file instead of a masked directory", hidden, unix.Stat_t{Mode: file}, ro, 0, false},
		{"generated content", data, unix.Stat_t{Mode: file | 0o644, Size: 4}, ro, 0, true},
		{"other content", data, unix.Stat_t{Mode: file | 0o644, Size: 5}, ro, 0, false},
		{"generated content that can be written", data, unix.Stat_t{Mode: file | 0o644, Size: 4}, usual, 0, false},
		{"memory", sandbox.Mount{Kind: sandbox.MountTmpfs}, unix.Stat_t{Mode: dir}, usual, unix.TMPFS_MAGIC, true},
		{"a disk instead of memory", sandbox.Mount{Kind: sandbox.MountTmpfs}, unix.Stat_t{Mode: dir}, usual, unix.EXT4_SUPER_MAGIC, false},
		{"a procfs", sandbox.Mount{Kind: sandbox.MountProc}, unix.Stat_t{Mode: dir}, usual, unix.PROC_SUPER_MAGIC, true},
		{"no procfs", sandbox.Mount{Kind: sandbox.MountProc}, unix.Stat_t{Mode: dir}, usual, unix.TMPFS_MAGIC, false},
		{"frozen", sandbox.Mount{Kind: sandbox.Freeze}, unix.Stat_t{Mode: dir}, ro, unix.TMPFS_MAGIC, true},
		{"not frozen", sandbox.Mount{Kind: sandbox.Freeze}, unix.Stat_t{Mode: dir}, usual, unix.TMPFS_MAGIC, false},
	}
	for _, tt := range tests {
		err := wrong(&tt.mount, &tt.st, &unix.Statfs_t{Flags: tt.flags, Type: tt.kind})
		if (err == nil) != tt.fine {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestNothingIsMounted: a path without a mount of its own, or behind a link, is
// not what was asked for.
func TestNothingIsMounted(t *testing.T) {
	root := t.TempDir()
	if err := unix.Symlink("/proc", root+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{root, root + "/link", root + "/gone"} {
		if err := checkMount(&sandbox.Mount{Kind: sandbox.MountBind, Target: target}); err == nil {
			t.Errorf("%s is taken for a mount", target)
		}
	}
	if err := checkMount(&sandbox.Mount{Kind: sandbox.MountProc, Target: "/proc"}); err != nil {
		t.Errorf("canary: /proc: %v", err)
	}
	if err := check(&sandbox.Plan{}); err == nil {
		t.Error("a plan for another engine is accepted")
	}
}
