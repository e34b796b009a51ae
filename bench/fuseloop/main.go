//go:build ignore

// Command fuseloop runs a command in a FUSE view of a directory: go-fuse's
// loopback file system, mounted without privileges in a user namespace of its
// own. It is what the measurements compare the broker with, and a module of its
// own so that nothing else depends on go-fuse.
//
//	fuseloop DIRECTORY MOUNTPOINT COMMAND...
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// inner marks the second start, in the namespaces.
const inner = "FUSELOOP_INNER"

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: fuseloop DIRECTORY MOUNTPOINT COMMAND...")
		os.Exit(2)
	}
	run := again
	if os.Getenv(inner) == "1" {
		run = mounted
	}
	err := run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuseloop:", err)
		os.Exit(1)
	}
}

// again starts this program in new user and mount namespaces.
func again() error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inner+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	one := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: one(os.Getuid()), GidMappings: one(os.Getgid()),
		// Kept over the start of a program by another user than 0.
		AmbientCaps: []uintptr{21},
	}
	return cmd.Run()
}

// mounted mounts and runs the command there.
func mounted() error {
	os.Unsetenv(inner)
	dir, point := os.Args[1], os.Args[2]
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	second := time.Second
	server, err := fs.Mount(point, root, &fs.Options{
		AttrTimeout: &second, EntryTimeout: &second, NullPermissions: true,
		MountOptions: fuse.MountOptions{DirectMount: true, DirectMountStrict: true, FsName: "fuseloop", Name: "fuseloop"},
	})
	if err != nil {
		return fmt.Errorf("mounting %s: %w", point, err)
	}
	defer server.Unmount()
	cmd := exec.Command(os.Args[3], os.Args[4:]...)
	cmd.Dir = point
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
