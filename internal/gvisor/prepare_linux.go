package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"carrel/internal/fuserelay"
	"carrel/internal/memfile"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"

	"golang.org/x/sys/unix"
)

// Descriptors of the program that prepares.
const (
	setupFD   = 3
	controlFD = 4 // where the device of FUSE goes
	startsFD  = 5 // and those that follow are the processes' in the sandbox
)

// Descriptors of one process in the sandbox, from firstFD on.
const (
	firstFD  = 3
	perStart = 3
)

// maxSetup bounds what the program is told to prepare, in bytes.
const maxSetup = 64 << 20

// IsPrepare says whether carrel starts this program to prepare a sandbox.
func IsPrepare(args []string) bool { return len(args) == 2 && args[1] == prepareArg }

// Prepare makes the file system of a sandbox the root of this process, the first one of namespaces
// of its own, and gives the arguments with which this program goes on as runsc.
func Prepare() (args []string, err error) {
	s, err := readSetup()
	if err != nil {
		return nil, fmt.Errorf("reading what to prepare: %w", err)
	}
	plan, err := sandbox.DecodePlan(s.Plan)
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse: %w", err)
	}
	defer unix.Close(device)
	note := func(text string) { fmt.Fprintln(os.Stderr, "carrel-gvisor:", text) }
	if err := stage.View(plan, note); err != nil {
		return nil, err
	}
	if err := s.mount(device); err != nil {
		return nil, err
	}
	if err := os.Mkdir(bundleDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(bundleDir+"/config.json", s.Spec, 0o600); err != nil {
		return nil, err
	}
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("setting no-new-privileges: %w", errno)
	}
	return s.runsc(), nil
}

// Places in [ownDir].
const (
	bundleDir = ownDir + "/bundle"
	servedDir = ownDir + "/served"
	stateDir  = ownDir + "/state"
)

func readSetup() (*setup, error) {
	f := os.NewFile(setupFD, "setup")
	if f == nil {
		return nil, errors.New("carrel starts this program")
	}
	defer f.Close()
	text, err := memfile.Read(f, maxSetup)
	if err != nil {
		return nil, err
	}
	s := new(setup)
	return s, json.Unmarshal(text, s)
}

// mount mounts what is served, and compares it with what it has to be. The server begins when it
// has the device.
func (s *setup) mount(device int) error {
	defer unix.Close(controlFD)
	if err := os.Mkdir(servedDir, 0o700); err != nil {
		return err
	}
	if err := fuserelay.MountOpened(device, servedDir); err != nil {
		return err
	}
	if err := unix.Sendmsg(controlFD, []byte{0}, unix.UnixRights(device), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("passing the device of FUSE on: %w", err)
	}
	if err := fuserelay.Bind(servedDir, s.Served); err != nil {
		return err
	}
	for i, place := range s.Served {
		inode, err := fuserelay.Served(place.To)
		if err == nil && inode != s.Inodes[i] {
			err = errors.New("what is mounted there is not what is served")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place.To, err)
		}
	}
	_, err := unix.Write(controlFD, []byte{0})
	return err
}

// runsc gives the arguments of runsc. No variable or file of the person's says another word.
func (s *setup) runsc() []string {
	args := []string{
		"runsc", "--root=" + stateDir, "--platform=systrap", "--network=none", "--ignore-cgroups", "--overlay2=root:memory",
		"--host-uds=none", "--host-fifo=none", "run", "--bundle=" + bundleDir,
	}
	for i := range s.Starts * perStart {
		args = append(args, "--pass-fd="+strconv.Itoa(startsFD+i)+":"+strconv.Itoa(firstFD+i))
	}
	return append(args, "sandbox")
}
