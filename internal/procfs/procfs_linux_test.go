package procfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadStat asks the kernel for the same in other ways.
func TestReadStat(t *testing.T) {
	s, err := ReadStat(os.Getpid())
	session, e := unix.Getsid(0)
	if err != nil || e != nil || s.Parent != os.Getppid() || s.Group != unix.Getpgrp() || s.Session != session || s.Start == 0 || s.Gone() {
		t.Errorf("%+v, %v %v", s, err, e)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !s.Gone() {
		if s, err = ReadStat(cmd.Process.Pid); err != nil || s.Parent != os.Getpid() {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if s, err := ReadStat(cmd.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", s, err)
	}
	if id := BootID(); len(id) != 36 {
		t.Errorf("boot %q", id)
	}
}
