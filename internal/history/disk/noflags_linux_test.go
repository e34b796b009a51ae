package disk

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// plainNode is a node of a file system that knows no flags of a rename, as of sshfs or a network.
type plainNode struct{ fs.LoopbackNode }

func (n *plainNode) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, as string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	return n.LoopbackNode.Rename(ctx, name, parent, as, flags)
}

// WrapChild implements [fs.NodeWrapChilder].
func (n *plainNode) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &plainNode{fs.LoopbackNode{RootData: ops.(*fs.LoopbackNode).RootData}}
}

// TestRenamesWithoutFlags: on such a file system a name that is taken stays, and two names change
// places, of files and of directories.
func TestRenamesWithoutFlags(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	below, at := t.TempDir(), t.TempDir()
	root := &fs.LoopbackRoot{Path: below}
	root.RootNode = &plainNode{fs.LoopbackNode{RootData: root}}
	server, err := fs.Mount(at, root.RootNode, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	for name, text := range map[string]string{"a": "a", "b": "b", "d/in": "in d", "e/in": "in e"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	if err := unix.Renameat2(dir, "a", dir, "b", unix.RENAME_EXCHANGE); err != unix.EINVAL {
		t.Fatalf("the file system knows flags: %v", err)
	}
	want := func(name, text string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(at, name)); string(got) != text || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, text)
		}
	}
	if err := RenameNew(dir, "a", dir, "b"); err != unix.EEXIST {
		t.Errorf("to a name that is taken: %v", err)
	}
	want("b", "b")
	if err := RenameNew(dir, "a", dir, "c"); err != nil {
		t.Error(err)
	}
	want("c", "a")
	if err := RenameNew(dir, "d", dir, "d/below"); err != unix.EINVAL {
		t.Errorf("a directory below itself: %v", err)
	}
	if err := Exchange(dir, "b", dir, "c"); err != nil {
		t.Error(err)
	}
	want("b", "a")
	want("c", "b")
	if err := Exchange(dir, "d", dir, "e"); err != nil {
		t.Error(err)
	}
	want("d/in", "in e")
	want("e/in", "in d")
	if err := Exchange(dir, "b", dir, "d"); err != nil { // a file and a directory
		t.Error(err)
	}
	want("d", "a")
	want("b/in", "in e")
	if err := Exchange(dir, "nothing", dir, "c"); err != unix.ENOENT {
		t.Errorf("with a name that is not there: %v", err)
	}
	want("c", "b")
	if names, err := filepath.Glob(at + "/*.exchanged"); err != nil || len(names) != 0 {
		t.Errorf("left: %q, %v", names, err)
	}
}
