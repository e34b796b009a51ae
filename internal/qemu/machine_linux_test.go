package qemu

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/guestimage"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// pretends is how the script of a machine begins.
const pretends = `#!/bin/sh
if [ "$1" = --version ]; then echo QEMU emulator version 8.1.2; exit; fi
say() { printf '%s\n' "$1" >&5; }
`

// pretend is a machine that a script of sh is: descriptor 5 is the port of its first program, 6 that of files.
func pretend(t *testing.T, script string) Config {
	t.Helper()
	at := filepath.Join(t.TempDir(), "qemu")
	if err := os.WriteFile(at, []byte(pretends+script), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Find(context.Background(), at, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	image := &guestimage.Image{Kernel: []byte("kernel")}
	return Config{Program: p, Image: image, Init: []byte("init"), Accel: AccelTCG, CPUs: 1, Memory: 64 << 20, User: 7}
}

// begins is a machine that does what it should until it has begun.
const begins = `say '{"Up":true}'; read -r begin <&5; case $begin in *'"User":7'*) say '{"Began":true}';; esac
`

// TestLyingMachines: whatever a machine says or does not say, it comes to an end, which says why, and
// nothing of it is left.
func TestLyingMachines(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'qemu: no such machine' >&2; exit 1":                                        "no such machine",
		"echo garbage >&5; read -r x <&5":                                                 "ended",
		"say '{\"Error\":\"no fuse\"}'; read -r x <&5":                                    "no fuse",
		"say '{\"Began\":true}'; read -r x <&5":                                           "is up",
		"say '{\"Up\":true}'; read -r x <&5; say '{\"Up\":true}'; read -r x <&5":          "has begun",
		"while :; do say '{\"Up\":true}'; done":                                           "has begun",
		"while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&5; done": "ended",
		"read -r x <&5": "does not answer",
	} {
		patience := time.Minute
		if want == "does not answer" {
			patience = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		m, err := Start(ctx, pretend(t, script))
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		cancel()
	}
}

// TestRelay: a part of the relay gets its port as it is told, is waited for, and is ended.
func TestRelay(t *testing.T) {
	ctx := context.Background()
	m, err := Start(ctx, pretend(t, begins+`read -r order <&5
case $order in *'"Port":"carrel.files","Args":["-x"]'*) ;; *) exit 3;; esac
say '{"Said":{"Port":"carrel.files","Text":"rea"}}'
say '{"Said":{"Port":"carrel.files","Text":"dy\n"}}'
say '{"Said":{"Port":"other","Text":"ready\n"}}'
read -r text <&6; echo "got $text" >&6
read -r order <&5
case $order in *'"Stop":"carrel.files"'*) ;; *) exit 4;; esac
say '{"Ended":{"Port":"carrel.files","Code":0}}'
say '{"Ended":{"Port":"carrel.files","Code":0}}'
read -r order <&5; say '{"Error":"no step"}'; read -r x <&5`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got := make(chan string, 1)
	r, err := m.Relay(ctx, PortFiles, []string{"-x"}, func(in io.Reader, out io.Writer) error {
		_, _ = io.WriteString(out, "hello\n")
		text := make([]byte, 10)
		_, _ = io.ReadFull(in, text)
		got <- string(text)
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "got hello\n" {
		t.Errorf("%q", text)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Build(ctx, &sandbox.Plan{}, nil); err == nil || !strings.Contains(err.Error(), "no step") {
		t.Errorf("building: %v", err)
	}
}

// TestMachineThatDies: what waits for a machine that was killed is told, and its streams end.
func TestMachineThatDies(t *testing.T) {
	ctx := context.Background()
	m, err := Start(ctx, pretend(t, begins+`read -r order <&5; say '{"Said":{"Port":"carrel.commands","Text":"ready\n"}}'; read -r x <&5`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	served := make(chan struct{})
	r, err := m.Relay(ctx, PortCommands, nil, func(in io.Reader, _ io.Writer) error {
		defer close(served)
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(m.cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, c := range []<-chan struct{}{m.Gone(), served} {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal("nothing tells of the end")
		}
	}
	_ = r.Close()
	if err := m.Build(ctx, &sandbox.Plan{}, nil); err == nil {
		t.Error("a machine that is gone takes steps")
	}
}

// TestEnvironment: of this process QEMU gets no variable, and no descriptor but its own.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	m, err := Start(context.Background(), pretend(t, `[ -z "$SECRET" ] && [ ! -e /proc/$$/fd/9 ] && [ "$(cat /proc/$$/fd/3)" ] || exit 3
`+begins+`read -r x <&5`))
	if err == nil || !strings.Contains(err.Error(), "ended") { // cat is in no directory of its PATH
		t.Errorf("a program was found: %v", err)
	}
	if m != nil {
		m.Close()
	}
	m, err = Start(context.Background(), pretend(t, `[ -z "$SECRET" ] && [ ! -e /proc/$$/fd/9 ] || exit 3
read -r x </proc/$$/fd/3 || [ "$x" = kernel ] || exit 3
`+begins+`read -r x <&5`))
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestVersions: QEMU is of version 7 or newer, and says so as it does.
func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright": "7.2.22", "QEMU emulator version 10.0.0\n": "10.0.0",
		"QEMU emulator version 6.2.0": "", "qemu": "", "": "",
	} {
		if got, err := versionOf(said); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v", said, got, err)
		}
	}
	_, err := Find(context.Background(), "", func(string) string { return t.TempDir() })
	if err == nil || !strings.Contains(err.Error(), "in PATH") {
		t.Errorf("of none: %v", err)
	}
	if _, err := Find(context.Background(), t.TempDir(), os.Getenv); err == nil {
		t.Error("a directory is taken")
	}
}

// TestAccel: translating is never chosen unasked; what KVM is worth is found out in a moment.
func TestAccel(t *testing.T) {
	for _, asked := range []Accel{AccelTCG, AccelKVM} {
		if got, err := Choose(asked); got != asked || err != nil {
			t.Errorf("%s: %s %v", asked, got, err)
		}
	}
	began := time.Now()
	why := Probe()
	if took := time.Since(began); took > 3*probeTime {
		t.Errorf("it took %s", took)
	}
	got, err := Choose(AccelAuto)
	if why == nil && got != AccelKVM || why != nil && (err == nil || got != "") {
		t.Errorf("auto is %q (%v), where KVM is %v", got, err, why)
	}
	if why != nil && !errors.Is(why, unix.ENOENT) && !errors.Is(why, errSlow) {
		t.Logf("KVM: %v", why)
	}
}

// TestArguments: a machine has what it is given, and no device beside its ports.
func TestArguments(t *testing.T) {
	c := &Config{Accel: AccelKVM, CPUs: 3, Memory: 1 << 30}
	all := strings.Join(arguments(c), " ")
	for _, want := range []string{
		"-smp 3", "-m 1024M", "-accel kvm", "spawn=deny", "-nodefaults", "name=carrel.init", "fd=5", "nr=4,chardev=c3,name=carrel.commands",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	for _, not := range []string{"netdev", "-nic", "drive", "nokaslr", "mitigations"} {
		if strings.Contains(all, not) {
			t.Errorf("%s is in %s", not, all)
		}
	}
	c.Accel = AccelTCG
	if all = strings.Join(arguments(c), " "); !strings.Contains(all, "tcg") || !strings.Contains(all, "mitigations=off") {
		t.Error(all)
	}
}

// TestRelayThatFails: what a relay says before it ends is in the error, and one that never ends is ended.
func TestRelayThatFails(t *testing.T) {
	ctx := context.Background()
	m, err := Start(ctx, pretend(t, begins+`read -r order <&5
say '{"Said":{"Port":"carrel.network","Text":"no such address\n"}}'
say '{"Ended":{"Port":"carrel.network","Code":125}}'
read -r order <&5; read -r order <&5; read -r x <&5`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	serve := func(in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		return err
	}
	if _, err := m.Relay(ctx, PortNetwork, nil, serve); err == nil || !strings.Contains(err.Error(), "no such address") {
		t.Errorf("it failed: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := m.Relay(short, PortCommands, nil, serve); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says nothing: %v", err)
	}
	if took := time.Since(began); took > 3*endGrace {
		t.Errorf("that took %s", took)
	}
}

// TestBoot: what is named is booted from, and without a name what was kept.
func TestBoot(t *testing.T) {
	cache := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_CACHE_HOME": cache}[name] }
	if _, err := Boot("", "", getenv); err == nil || !strings.Contains(err.Error(), "no image") {
		t.Errorf("nothing was kept: %v", err)
	}
	kept := &guestimage.Image{Kernel: []byte("kept"), Initrd: []byte("modules")}
	if err := kept.Save(guestimage.Dir(getenv)); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(cache, "kernel")
	if err := os.WriteFile(named, []byte("named"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "kept", named: "named"} {
		if i, err := Boot(path, "", getenv); err != nil || string(i.Kernel) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}
