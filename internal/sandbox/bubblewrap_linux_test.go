package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBubblewrapVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"0.8.0": true, "0.11.2": true, "1.0": true, "0.10": true, "0.8": true,
		"0.7.9": false, "0.4.1": false, "": false, "0": false, "x.9": false, "0.x": false, "-1.9": false,
	} {
		if serves(version) != want {
			t.Errorf("version %q: want %v", version, want)
		}
	}
}

// TestWhatHasGoneMeanwhile: of bubblewrap's words, those that a second look may mend.
func TestWhatHasGoneMeanwhile(t *testing.T) {
	for said, want := range map[string]int{
		"bwrap: Can't bind mount /bindfileX on /newroot/a: Unable to mount source on destination: No such file or directory": int(unix.ENOENT),
		"it ended: bwrap: Can't create file at /a/b.sock: Read-only file system\n":                                           int(unix.ENOENT),
		"it ended: bwrap: Can't mount tmpfs on /newroot/a: Read-only file system":                                            0,
		"it ended: bwrap: Can't create file at /a/b.sock: Permission denied":                                                 0,
		"": 0,
	} {
		if got := codeOf(errors.New(said)); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
}

// TestHelpersAreTheSystems: a program that anybody else could have put there is
// not started.
func TestHelpersAreTheSystems(t *testing.T) {
	dir := t.TempDir()
	good := dir + "/program"
	if err := os.WriteFile(good, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	loose, link := dir+"/loose", dir+"/link"
	if err := os.WriteFile(loose, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o775); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	if err := systems(good); (err == nil) != (os.Getuid() == 0) {
		t.Errorf("a file of uid %d: %v", os.Getuid(), err)
	}
	for _, program := range []string{loose, link, dir, dir + "/nothing"} {
		if systems(program) == nil {
			t.Errorf("%s is taken for the system's", program)
		}
	}
}

// TestApart: a namespace that is our own is no wall.
func TestApart(t *testing.T) {
	var ours []string
	for _, kind := range NamespaceKinds {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		ours = append(ours, name)
	}
	other := strings.Fields(strings.Repeat("other:[1] ", len(ours)))
	if err := apart(strings.Join(other, " "), true); err != nil {
		t.Error(err)
	}
	for i, kind := range NamespaceKinds {
		said := append([]string(nil), other...)
		said[i] = ours[i]
		if err := apart(strings.Join(said, " "), true); err == nil {
			t.Errorf("our own %s namespace is taken for another", kind)
		}
		if err := apart(strings.Join(said, " "), false); (err == nil) != (kind == "net") {
			t.Errorf("without a network of its own, %s: %v", kind, err)
		}
	}
	for _, said := range []string{"", "one", strings.Join(other[1:], " "), strings.Join(append(other, "x"), " ")} {
		if apart(said, true) == nil {
			t.Errorf("%q is taken for namespaces", said)
		}
	}
}

func TestHelperSaysWhatFailed(t *testing.T) {
	if said, err := helper("/bin/sh", "-c", "echo out; exit 0"); said != "out" || err != nil {
		t.Errorf("%q %v", said, err)
	}
	if _, err := helper("/bin/sh", "-c", "echo trouble >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("%v", err)
	}
	if said, err := helper("/bin/sh", "-c", "env | cut -d= -f1 | sort | tr '\\n' ' '"); err != nil || strings.Contains(said, "HOME") {
		t.Errorf("the environment is %q, %v", said, err)
	}
	if _, err := helper("/nothing/there"); err == nil {
		t.Error("no error")
	}
}
