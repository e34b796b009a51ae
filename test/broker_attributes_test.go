//go:build linux

package e2e

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newCalls are the newest calls for attributes, in Python, by their numbers:
// the C libraries have no functions for them.
var newCalls = program("broker_attributes/new_calls.py")

// needNewCalls skips where the kernel does not know the calls: 6.13 brought
// those for extended attributes, 6.17 file_setattr.
func needNewCalls(t *testing.T) {
	t.Helper()
	none := -1
	if _, _, e := unix.Syscall6(unix.SYS_FILE_SETATTR, uintptr(none), 0, 0, 0, 0, 0); e == unix.ENOSYS {
		t.Skip("this kernel has no file_setattr")
	}
}

// TestNewAttributeCalls: setxattrat, removexattrat and file_setattr answer
// behind the broker as they do on the bare directory, sizes and faults included.
func TestNewAttributeCalls(t *testing.T) {
	needNewCalls(t)
	body := program("broker_attributes/new_attribute_calls.py")
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{body: newCalls + body}
		outside := a.prepare(t, p)
		outside.setenv("HARMLESS", "1")
		natively := outside.plain("python3", outside.base+"/tool/attack.py")
		w := a.prepare(t, p)
		r := w.run(slices.Concat(historyOn, []string{"--read", w.base + "/tool", "--", "python3", w.base + "/tool/attack.py"})...)
		if natively.code != 0 || r.code != 0 || strings.Count(natively.out, "\n") < 300 {
			t.Fatalf("natively: %s\ninside: %s", natively, r)
		}
		want, got := strings.Split(natively.out, "\n"), strings.Split(r.out, "\n")
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Errorf("line %d: inside %s, natively %s", i, got[i], want[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("%d lines inside, %d natively", len(got), len(want))
		}
	})
}

// TestB15AttributesByDescriptor: the newest forms are changes of what a granted
// descriptor means now: recorded under the name that it has, refused where that
// is one that must not change. Continued, they would work on the mirror's mount.
func TestB15AttributesByDescriptor(t *testing.T) {
	needNewCalls(t)
	body := newCalls + program("broker_attributes/attributes_by_descriptor.py")
	eachPerson(t, func(t *testing.T, p person) {
		for _, foreign := range []string{"False", "True"} {
			t.Run("foreign "+foreign, func(t *testing.T) {
				a := hostile{body: "FOREIGN = " + foreign + "\n" + body, setup: "mkdir d jail"}
				w := a.prepare(t, p)
				moved := make(chan error, 1)
				go func() { moved <- w.moveWhenReady("e/f3", ".vscode/f3") }()
				r := w.run(slices.Concat(historyOn, []string{"--nested", "userns", "--read", w.base + "/tool", "--", "python3", w.base + "/tool/attack.py"})...)
				if err := <-moved; err != nil {
					t.Fatalf("%v: inside: %s", err, r)
				}
				want := "allowed 0 0 0\nrefused EACCES EACCES EACCES\nlabels EPERM EPERM EPERM\n"
				if foreign == "True" {
					want += "foreign 0 None EACCES EACCES EACCES\n"
				}
				if r.out != want {
					t.Errorf("inside: want %q: %s", want, r)
				}
				if denied := strings.Count(r.err, `/.vscode/f3" was refused`); denied < 2 {
					t.Errorf("%d denials name .vscode/f3, want one for each operation: %s", denied, r.err)
				}
				record := w.outsideSh("cat ~/.local/state/carrel/projects/*/changes/*.log")
				for _, line := range []string{`setxattr "/e/f0"`, `setxattr "/e/f1"`, `ioctl "/e/f2"`} {
					if line = strings.Replace(line, "/e", w.project+"/e", 1); !strings.Contains(record, line) {
						t.Errorf("the record lacks %s:\n%s", line, record)
					}
				}
				w.write(w.base+"/look.py", program("broker_attributes/look.py"))
				got := w.outsideSh("python3 " + w.base + "/look.py")
				if want := "e/f0 ['user.new'] 0\ne/f1 [] 0\ne/f2 [] 128\n.vscode/f3 ['user.kept'] 0\n"; got != want {
					t.Errorf("on the host: %q, want %q", got, want)
				}
			})
		}
	})
}

// moveWhenReady moves a file of the project from outside, with an attribute,
// when something inside has made the file "ready".
func (w *world) moveWhenReady(from, to string) error {
	for end := time.Now().Add(10 * time.Second); !exists(w.project + "/ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("nobody is ready")
		}
	}
	if err := syscall.Setxattr(w.project+"/"+from, "user.kept", []byte("1"), 0); err != nil {
		return err
	}
	return os.Rename(w.project+"/"+from, w.project+"/"+to)
}
