package decide

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
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

// TestProgramCalledLikeAHelper: the command's own program lies in home, under a name
// that stands among the helpers inside. That name keeps its place, and the program starts.
func TestProgramCalledLikeAHelper(t *testing.T) {
	d := mountHome(t)
	bin := d.home + "/bin"
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"carrel", "carrel-file", "xclip", "tool"} {
		if err := os.WriteFile(bin+"/"+name, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := d.mounted("{}", func(r *Request) {
			r.Argv, r.Environ = []string{name}, append(slices.Clone(d.environ), "PATH="+bin+":/usr/bin:/bin")
		})
		if err != nil {
			t.Fatal(err)
		}
		var at []sandbox.Mount
		for _, m := range p.Plan.Mounts {
			if m.Target == inside.Dir+"/"+name {
				at = append(at, m)
			}
		}
		if len(at) != 1 || (at[0].Source == bin+"/"+name) != (name == "tool") {
			t.Errorf("%s: among the helpers is %+v", name, at)
		}
		if got := p.ProgramAt(name); got != bin+"/"+name {
			t.Errorf("%s starts %q", name, got)
		}
	}
}

// TestNamedVariableIsNotSet: a variable that a flag names, and that is not there, is told
// of; patterns, and what the files name, are for whatever there is.
func TestNamedVariableIsNotSet(t *testing.T) {
	d := mountHome(t)
	flag := policy.Source{Layer: policy.LayerCommandLine, Text: "--env"}
	p, err := d.mounted("environment: {pass: [NOTHING]}", func(r *Request) {
		r.Environ = append(slices.Clone(d.environ), "THERE=1", "EMPTY=")
		for _, name := range []string{"THERE", "EMPTY", "NO*", "NOSUCH"} {
			r.Flags.EnvPass = append(r.Flags.EnvPass, policy.Value[string]{V: name, Source: flag})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Noted(); len(got) != 1 || got[0] != "--env NOSUCH: there is no such variable here, so none is passed" {
		t.Errorf("%q", got)
	}
}
