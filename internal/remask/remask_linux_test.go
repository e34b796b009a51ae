package remask

import (
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/hostview"
	"carrel/internal/policy"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// do makes a change as the broker does, which tells of it before and after.
func do(t *testing.T, o *OwnFiles, ch *broker.Change, change func() error) {
	t.Helper()
	o.Before(ch)
	err := change()
	o.After(ch, err)
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, at string) {
	t.Helper()
	if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOwnFiles: a file of secrets is the command's own while what it made is there.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, ".env")
	o := new(OwnFiles)
	write(t, at)
	if o.Has(at) {
		t.Error("one from outside is taken for its own")
	}
	os.Remove(at)
	do(t, o, &broker.Change{Op: broker.OpCreate, Path: at}, func() error { return os.WriteFile(at, nil, 0o600) })
	if !o.Has(at) || !o.Is(at, inodeAt(at)) {
		t.Error("its own file is not known")
	}
	// An editor outside puts another file in its place.
	write(t, at+".new")
	if err := os.Rename(at+".new", at); err != nil {
		t.Fatal(err)
	}
	if o.Has(at) || o.Is(at, inodeAt(at)) {
		t.Error("what came from outside in its place is taken for its own")
	}
}

// TestOwnFilesMove: the new name of a rename is its own, the old one no longer.
func TestOwnFilesMove(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, ".env"), filepath.Join(dir, ".env.local")
	o := new(OwnFiles)
	do(t, o, &broker.Change{Op: broker.OpCreate, Path: from}, func() error { return os.WriteFile(from, nil, 0o600) })
	do(t, o, &broker.Change{Op: broker.OpRename, Path: from, To: to}, func() error { return os.Rename(from, to) })
	write(t, from)
	if o.Has(from) || !o.Has(to) {
		t.Errorf("old name %v, new name %v", o.Has(from), o.Has(to))
	}
}

// TestOwnFilesFailed: a change that failed makes nothing its own.
func TestOwnFilesFailed(t *testing.T) {
	at := filepath.Join(t.TempDir(), ".env")
	o := new(OwnFiles)
	ch := &broker.Change{Op: broker.OpCreate, Path: at}
	o.Before(ch)
	write(t, at) // from outside, meanwhile
	o.After(ch, unix.EEXIST)
	if o.Has(at) {
		t.Error("a file that it could not make is taken for its own")
	}
}

// TestHiddenByName: names of secrets in the project are hidden, unless a rule names them.
func TestHiddenByName(t *testing.T) {
	e := &policy.Effective{Scope: policy.Scope{Project: "/p"}, Rules: []policy.Rule{
		{Path: "/p", Access: policy.Write}, {Path: "/p/shown/.env", Access: policy.Read},
	}}
	for at, want := range map[string]bool{
		"/p/.env": true, "/p/sub/.env": true, "/p/shown/.env": false, "/q/.env": false, "/p/main.go": false,
	} {
		if got := HiddenByName(e, "/p", at); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
}

// TestMaskedBy: what a mount shows over a mask is not hidden again.
func TestMaskedBy(t *testing.T) {
	got := maskedBy([]sandbox.Mount{
		{Kind: sandbox.MountMask, Target: "/p/hidden"},
		{Kind: sandbox.MountMask, Target: "/p/granted"},
		{Kind: sandbox.MountMask, Target: "/p/dir", Dir: true},
		{Kind: sandbox.MountMask, Target: "/proc/kcore"},
		{Kind: sandbox.MountBind, Target: "/p/granted"},
		{Kind: sandbox.MountData, Target: "/p/.git/config", Reason: hostview.Passwords},
	})
	if len(got) != 2 || !got["/p/hidden"] || !got["/p/.git/config"] {
		t.Errorf("masked: %v", got)
	}
}
