package interceptor

import (
	"os"
	"testing"
	"time"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

type readsAll struct{}

func (readsAll) Decide(*broker.Change) broker.Verdict { return broker.Verdict{Allowed: true} }

// TestKeptRoots: of a root that is kept the other kernel may remember names, their absence, attributes and
// content for long; of another one only while it is told of changes. What is masked is never remembered.
func TestKeptRoots(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"f", "masked"} {
		if err := os.WriteFile(dir+"/"+name, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, kept := range []bool{true, false} {
		c := Config{Roots: []Root{{Path: dir, FD: fd, Kept: kept}}, Decider: readsAll{}}
		c.Masked = func(path string) bool { return path == dir+"/masked" }
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		names, root := nameCalls{s}, fuse.EntryOut{}
		if code := names.Lookup(nil, &fuse.InHeader{NodeId: topNode}, "0", &root); code != fuse.OK {
			t.Fatal(code)
		}
		in := &fuse.InHeader{NodeId: root.NodeId}
		for name, want := range map[string][2]bool{"f": {kept, kept}, "absent": {kept, false}, "masked": {kept, false}} {
			var out fuse.EntryOut
			if code := names.Lookup(nil, in, name, &out); code != fuse.OK {
				t.Fatal(code)
			}
			got := [2]bool{out.EntryTimeout() > 30*time.Minute, out.AttrTimeout() > 30*time.Minute}
			if got != want {
				t.Errorf("%s: names and attributes are kept %v, want %v", name, got, want)
			}
			if name != "f" {
				continue
			}
			var open fuse.OpenOut
			if code := (fileCalls{s}).Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: out.NodeId}}, &open); code != fuse.OK {
				t.Fatal(code)
			}
			if (open.OpenFlags&fuse.FOPEN_KEEP_CACHE != 0) != kept {
				t.Errorf("the content is kept: %t, want %t", !kept, kept)
			}
		}
		s.Close()
	}
}
