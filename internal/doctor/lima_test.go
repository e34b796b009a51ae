package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/advice"
)

// withLima is a healthy machine on which backend lima works, with changes.
func withLima(changes ...func(*Lima)) change {
	return func(m *Machine) {
		m.Lima = &Lima{
			LimaAsked: LimaAsked{Wanted: true, Image: "/images/debian.qcow2"},
			Limactl:   "/usr/bin/limactl", QEMU: []string{"qemu-system-x86_64"},
			Version:  func() (string, error) { return "1.2.2", nil },
			Lookup:   func(program string) string { return "/usr/bin/" + program },
			Readable: func(string) error { return nil },
			KVM:      func() (string, error) { return "kvm", nil },
			Relay:    func() (string, error) { return "/usr/local/bin/carrel-relay", nil },
		}
		for _, c := range changes {
			c(m.Lima)
		}
	}
}

func refuseLimactl(err error) func(*Lima) {
	return func(l *Lima) { l.Version = func() (string, error) { return "", err } }
}

// advised is an error with a hint.
func advised(hint string) error { return &advice.Error{Err: errors.New("refused"), Hint: hint} }

func refuseImage(err error) func(*Lima) { return func(l *Lima) { l.Refused = err } }

func refuseKVM(group string, errno syscall.Errno) func(*Lima) {
	return func(l *Lima) {
		l.KVM = func() (string, error) { return group, &fs.PathError{Op: "open", Path: "/dev/kvm", Err: errno} }
	}
}

func emulated(l *Lima) { l.QEMU = strings.Fields("qemu-system-x86_64 -machine q35,accel=tcg") }

// simulatedLima is what backend lima finds.
var simulatedLima = []row{
	{"lima", []change{withLima()}, "lima", OK, "", "", true},
	{"no limactl", []change{withLima(func(l *Lima) { l.Limactl = "" }, refuseLimactl(advised("install Lima")))},
		"lima", Missing, CauseProgram, "install Lima", true},
	{"limactl as root", []change{root, withLima(refuseLimactl(advised("as an ordinary user")))},
		"lima", Missing, CauseRoot, "ordinary user", true},
	{"an old limactl", []change{withLima(refuseLimactl(advised("a newer Lima")))},
		"lima", Missing, "", "a newer Lima", true},
	{"a limactl that fails", []change{withLima(refuseLimactl(errors.New("exit status 1")))}, "lima", Missing, "", "limactl", true},
	{"no image is named", []change{withLima(refuseImage(fmt.Errorf("wrapped: %w", advised("set lima.image"))))},
		"lima-image", Missing, CauseImage, "set lima.image", true},
	{"the image is not there", []change{withLima(func(l *Lima) { l.Readable = func(string) error { return syscall.ENOENT } })},
		"lima-image", Missing, CauseImage, "lima.image", true},
	{"an image from the network", []change{withLima(func(l *Lima) {
		l.Image, l.Readable = "https://example.org/debian.qcow2", func(string) error { return syscall.ENOENT }
	})}, "lima-image", OK, "", "", true},
	{"no QEMU", []change{withLima(func(l *Lima) { l.Lookup = func(string) string { return "" } })}, "lima-qemu",
		Missing, CauseProgram, "apt-get install qemu-system-", true},
	{"QEMU by a path that is none", []change{withLima(func(l *Lima) {
		l.QEMU, l.Readable = []string{"/opt/qemu"}, func(string) error { return syscall.ENOENT }
	})}, "lima-qemu", Missing, CauseProgram, "install QEMU", true},
	{"no KVM", []change{withLima(refuseKVM("", syscall.ENOENT))}, "lima-kvm", Missing, CauseKVM, "firmware", true},
	{"KVM for a group", []change{withLima(refuseKVM("kvm", syscall.EACCES))}, "lima-kvm", Missing, CauseKVMUser, "sudo usermod -aG kvm", true},
	{"KVM for root alone", []change{withLima(refuseKVM("", syscall.EACCES))}, "lima-kvm", Missing, CauseKVMUser, "have root give", true},
	{"without KVM by a variable", []change{withLima(emulated, refuseKVM("", syscall.ENOENT))},
		"lima-kvm", Weak, "", "unset QEMU_SYSTEM_", true},
	{"no program for machines", []change{withLima(func(l *Lima) { l.Relay = func() (string, error) { return "", syscall.ENOENT } })},
		"lima-relay", Missing, CauseProgram, "beside carrel", true},
}

// TestLimaIsAskedFor: there is no word of lima where nothing gives reason for it, and all of it where
// the configuration or an installed limactl does.
func TestLimaIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		os      string
		wanted  bool
		limactl string
		want    string
	}{
		{"nothing", "linux", false, "", ""},
		{"configured", "linux", true, "", "lima lima-image lima-qemu lima-kvm lima-relay"},
		{"installed", "linux", false, "/usr/bin/limactl", "lima lima-image lima-qemu lima-kvm lima-relay"},
		{"another system", "darwin", true, "/usr/bin/limactl", "lima lima-image"},
		{"another system, without", "darwin", false, "", ""},
	} {
		m := healthy()
		withLima(func(l *Lima) { l.Wanted, l.Limactl = c.wanted, c.limactl })(m)
		m.OS = c.os
		var got []string
		for _, check := range Examine(m).Checks {
			if strings.HasPrefix(check.ID, "lima") {
				got = append(got, check.ID)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLimactlHangs: what hangs keeps no other answer back.
func TestLimactlHangs(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	m := healthy()
	m.Patience = 20 * time.Millisecond
	withLima(func(l *Lima) {
		l.Version = func() (string, error) { <-hang; return "", nil }
		l.Readable = func(string) error { <-hang; return nil }
	})(m)
	r := Examine(m)
	if c := r.Check("lima"); c.Cause != CauseTime || c.Errno != "ETIMEDOUT" {
		t.Errorf("lima: %+v", c)
	}
	if c := r.Check("lima-image"); c.Status != Missing || c.Errno != "ETIMEDOUT" {
		t.Errorf("image: %+v", c)
	}
	if c := r.Check("lima-kvm"); c.Status != OK || !r.Ready {
		t.Errorf("KVM: %+v, ready %v", c, r.Ready)
	}
}
