package doctor

import (
	"os"
	"os/user"
	"strconv"

	"carrel/internal/hostfacts"

	"golang.org/x/sys/unix"
)

const kvmDevice = "/dev/kvm"

// openKVM opens the device as QEMU does.
func openKVM() (group string, err error) {
	var st unix.Stat_t
	if unix.Stat(kvmDevice, &st) == nil && st.Mode&0o060 == 0o060 && st.Gid != 0 {
		if g, err := user.LookupGroupId(strconv.Itoa(int(st.Gid))); err == nil {
			group = g.Name
		}
	}
	f, err := os.OpenFile(kvmDevice, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return group, err
	}
	return group, f.Close()
}

func relayHere() (string, error) { return nameOf(hostfacts.RelayProgram()) }

func nameOf(f *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer f.Close()
	return f.Name(), nil
}

// GvisorHere is what this machine has for backend gvisor.
func GvisorHere(wanted bool) *Gvisor {
	return &Gvisor{Wanted: wanted, Program: func() (string, error) { return nameOf(hostfacts.GvisorProgram()) }, Serve: hostfacts.OpensFUSE}
}
