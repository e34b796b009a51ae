package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"carrel/internal/advice"
	"carrel/internal/lima"
)

// LimaAsked is what the configuration says of backend lima.
type LimaAsked struct {
	Wanted  bool   // it names the backend, or what its machines are made of
	Image   string // that they are made of: a URL or a path
	Refused error  // why no machine can be made of what is named
}

// Lima is all that the checks of backend lima may ask. What limactl starts is found by the
// person's PATH, as limactl itself is.
type Lima struct {
	LimaAsked
	Limactl string   // its path, "" for none
	QEMU    []string // the command that limactl starts, for this host's architecture

	Version  func() (string, error) // of a limactl that can be used
	Lookup   func(program string) string
	Readable func(path string) error          // a file
	KVM      func() (group string, err error) // opens /dev/kvm; group may open it, "" for none
	Relay    func() (path string, err error)  // the program for machines, beside our own
}

// LimaHere is what this machine has for backend lima. environ is the person's environment.
func LimaHere(environ []string, asked LimaAsked) *Lima {
	return &Lima{
		LimaAsked: asked, Limactl: lima.Lookup(environ, "limactl"), QEMU: lima.QEMU(environ),
		Version: func() (string, error) {
			p, err := lima.Find(context.Background(), environ, os.Getuid())
			if err != nil {
				return "", err
			}
			return p.Version, nil
		},
		Lookup:   func(program string) string { return lima.Lookup(environ, program) },
		Readable: readable, KVM: openKVM, Relay: relayHere,
	}
}

func readable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *Lima) bounded(limit time.Duration) *Lima {
	b := *l
	b.Version = func() (string, error) { return answered(limit, l.Version) }
	b.Readable = func(path string) error { return within(limit, func() error { return l.Readable(path) }) }
	return &b
}

// noMachine is what follows from nearly all of it.
const noMachine = "backend lima starts no machine"

// limaChecks are those of backend lima, where the configuration or an installed limactl gives
// reason to ask. None is needed: walls do without.
func limaChecks(p *patient) []Check {
	l := p.Lima
	if l == nil || !l.Wanted && l.Limactl == "" {
		return nil
	}
	checks := []Check{l.program(p), l.image()}
	if p.OS == "linux" {
		checks = append(checks, l.qemu(), l.kvm(), l.relay())
	}
	return checks
}

func (l *Lima) program(p *patient) Check {
	c := Check{ID: "lima", Name: "Lima", Status: OK}
	version, err := l.Version()
	switch {
	case err == nil:
		c.Found = fmt.Sprintf("limactl %s: %s", version, l.Limactl)
		return c
	case p.UID == 0:
		return c.advised(err, CauseRoot)
	case l.Limactl == "":
		return c.advised(err, CauseProgram)
	case errors.Is(err, syscall.ETIMEDOUT):
		return c.advised(err, CauseTime)
	}
	return c.advised(err, "")
}

// seeLimactl is the fix where no other is known.
const seeLimactl = "see what `limactl list` says"

// advised is a check of what a machine needs that failed, with the fix that its error names.
func (c Check) advised(err error, cause Cause) Check {
	r := remedy{cause: cause, fix: seeLimactl}
	if said := (*advice.Error)(nil); errors.As(err, &said) {
		err, r.fix = said.Err, said.Hint
	}
	c.Status, c.Found, c.Means, c.Errno = Missing, err.Error(), noMachine, errnoNames[errnoOf(err)]
	return c.with(r)
}

func (l *Lima) image() Check {
	c := Check{ID: "lima-image", Name: "Lima: disk image", Status: OK, Found: l.Image}
	if l.Refused != nil {
		return c.advised(l.Refused, CauseImage)
	}
	if !filepath.IsAbs(l.Image) {
		c.Found += ": limactl fetches it with the first run"
		return c
	}
	if err := l.Readable(l.Image); err != nil {
		return c.advised(&advice.Error{Err: err,
			Hint: "put the image there, readable for this user, or name another one by lima.image"}, CauseImage)
	}
	return c
}

func (l *Lima) qemu() Check {
	c := Check{ID: "lima-qemu", Name: "Lima: QEMU", Status: OK, Found: l.QEMU[0]}
	if !filepath.IsAbs(l.QEMU[0]) {
		c.Found = l.Lookup(l.QEMU[0])
	} else if l.Readable(l.QEMU[0]) != nil {
		c.Found = ""
	}
	if c.Found != "" {
		return c
	}
	c.Status, c.Found, c.Means = Missing, "no "+l.QEMU[0]+" in PATH", noMachine
	if filepath.IsAbs(l.QEMU[0]) {
		c.Found = "no " + l.QEMU[0]
	}
	packages := map[string]string{"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}[lima.Arch()]
	return c.with(remedy{cause: CauseProgram, fix: "install QEMU", commands: []string{"sudo apt-get install " + packages + " qemu-utils"}})
}

// kvm says whether machines run on the processor. limactl asks QEMU for that in each machine of
// the host's own architecture: without, it takes a variable to have QEMU translate.
func (l *Lima) kvm() Check {
	c := Check{ID: "lima-kvm", Name: "Lima: KVM", Status: OK, Found: "/dev/kvm can be opened"}
	if slices.ContainsFunc(l.QEMU[1:], func(word string) bool { return strings.Contains(word, "tcg") }) {
		c.Status, c.Found = Weak, "not used: a variable has QEMU translate ("+strings.Join(l.QEMU, " ")+")"
		c.Means = "a machine takes minutes to start, and is slow"
		return c.with(remedy{fix: "unset QEMU_SYSTEM_" + strings.ToUpper(lima.Arch()) + " where /dev/kvm can be opened"})
	}
	group, err := l.KVM()
	if err == nil {
		return c
	}
	c = c.refused(Missing, err, noMachine)
	switch {
	case errnoOf(err) == syscall.ENOENT:
		c.Found = "there is no /dev/kvm"
		fix := "turn virtualization on in the firmware, or nested virtualization where this is a virtual machine itself"
		if lima.Arch() == "x86_64" {
			fix += "; or have QEMU translate, with which a machine takes minutes to start: " +
				"export QEMU_SYSTEM_X86_64='qemu-system-x86_64 -machine q35,vmport=off,accel=tcg -cpu max'"
		}
		return c.with(remedy{cause: CauseKVM, fix: fix})
	case group == "":
		return c.with(remedy{cause: CauseKVMUser, fix: "have root give /dev/kvm to a group (chgrp kvm, chmod 660), and join that group"})
	}
	return c.with(remedy{cause: CauseKVMUser, fix: "join the group " + group + ", and log in again",
		commands: []string{"sudo usermod -aG " + quoted(group) + ` "$(id -un)"`}})
}

func (l *Lima) relay() Check {
	c := Check{ID: "lima-relay", Name: "Lima: carrel-relay", Status: OK}
	at, err := l.Relay()
	if err != nil {
		return c.advised(&advice.Error{Err: err,
			Hint: "install carrel-relay beside carrel (`make install`), with the same owner and mode"}, CauseProgram)
	}
	c.Found = at
	return c
}
