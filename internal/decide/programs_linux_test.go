package decide

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoader: what the kernel would open as the loader of a real program, and
// nothing for what names none.
func TestLoader(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if sh, err = filepath.EvalSymlinks(sh); err != nil {
		t.Fatal(err)
	}
	if got := loaderOf(sh); !strings.HasPrefix(got, "/lib") || !strings.Contains(got, "ld-linux") {
		t.Errorf("the loader of %s is %q", sh, got)
	}
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{script, "/proc/self/exe", "/dev/null", "/nonexistent", t.TempDir()} {
		if got := loaderOf(file); got != "" {
			t.Errorf("the loader of %s is %q, want none", file, got)
		}
	}
}

// FuzzLoader: offsets in a file are whoever's who wrote it.
func FuzzLoader(f *testing.F) {
	head := make([]byte, 256)
	copy(head, "\x7fELF\x02\x01")
	binary.LittleEndian.PutUint64(head[32:], 64)
	binary.LittleEndian.PutUint16(head[54:], 56)
	binary.LittleEndian.PutUint16(head[56:], 2)
	binary.LittleEndian.PutUint32(head[64:], 3)
	binary.LittleEndian.PutUint64(head[72:], 200)
	binary.LittleEndian.PutUint64(head[96:], 10)
	copy(head[200:], "/ld.so\x00")
	if got := loaderIn(head); got != "/ld.so" {
		f.Fatalf("the loader is %q", got)
	}
	f.Add(head)
	for _, at := range []int{32, 72, 96} {
		for _, v := range []uint64{1<<64 - 1, 1<<64 - 56, 256, 250} {
			bad := append([]byte(nil), head...)
			binary.LittleEndian.PutUint64(bad[at:], v)
			f.Add(bad)
		}
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if got := loaderIn(head); len(got) > len(head) {
			t.Errorf("%q out of %d bytes", got, len(head))
		}
	})
}
