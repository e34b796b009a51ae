package settings

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// opened reads a settings file that has a text.
func opened(t *testing.T, text string) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, path
}

// holds wants a file with a text, and nothing beside it.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("beside it: %v, %v", list, err)
	}
}

// TestReplace: the new text is there as a whole, with the mode and the attributes of the old
// file, and through the link that the file is named by.
func TestReplace(t *testing.T) {
	f, path := opened(t, "old")
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	hasAttributes := unix.Setxattr(path, "user.mine", []byte("kept"), 0) == nil
	f.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	f, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Real != path || f.Path != link || string(f.Text) != "old" || f.Editable() != nil {
		t.Errorf("%+v", f)
	}
	if err := f.Replace([]byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o604 {
		t.Errorf("%v, %v", st, err)
	}
	if value := make([]byte, 9); hasAttributes {
		if n, err := unix.Getxattr(path, "user.mine", value); err != nil || string(value[:n]) != "kept" {
			t.Errorf("its attribute is %q, %v", value[:max(n, 0)], err)
		}
	}
	if at, err := os.Readlink(link); err != nil || at != path {
		t.Errorf("the link leads to %q, %v", at, err)
	}
}

// TestMade: a file that is not there is made for its user alone, and one that another program
// made meanwhile stays.
func TestMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	for _, want := range []error{nil, ErrChanged} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if want != nil {
			f.Close()
			if f, err = Open(path + "2"); err != nil || f.Text != nil || f.Editable() != nil {
				t.Fatalf("%+v, %v", f, err)
			}
			if err := os.Rename(path, path+"2"); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Replace([]byte("ours")); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		f.Close()
	}
	holds(t, path+"2", "ours")
	if st, err := os.Stat(path + "2"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestChangedMeanwhile: what another program did after the look is never replaced, whichever
// way it was done, and nothing is left beside it.
func TestChangedMeanwhile(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"written":        func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o640) },
		"replaced alike": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte("old"), 0o640)) },
		"protected":      func(path string) error { return os.Chmod(path, 0o400) },
		"gone":           os.Remove,
		"a directory":    func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link":         func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
	} {
		f, path := opened(t, "old")
		if err := f.Stage([]byte("ours")); err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		if err := f.Commit(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
		f.Close()
		list, err := os.ReadDir(filepath.Dir(path))
		after, _ := os.Lstat(path)
		if err != nil || (before == nil) != (len(list) == 0) || before != nil && (len(list) != 1 || !os.SameFile(before, after)) {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
}

// TestWhatIsNoFile: what is there and no regular file of bounded size is not read, and the
// error says why.
func TestWhatIsNoFile(t *testing.T) {
	at := t.TempDir()
	name := func(n string) string { return filepath.Join(at, n) }
	if err := errors.Join(unix.Mkfifo(name("fifo"), 0o600), os.Mkdir(name("dir"), 0o700), os.Symlink(name("absent"), name("link")),
		os.Symlink("loop", name("loop")), os.WriteFile(name("large"), nil, 0o600), os.Truncate(name("large"), MaxFile+1)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"fifo": "not a regular file", "dir": "not a regular file", "link": "following the link", "loop": "following the link",
		"large": "larger than 16 MiB", "absent/settings": "its directory does not exist",
	} {
		if f, err := Open(name(path)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), at) {
			t.Errorf("%s: %+v, %v, want %q", path, f, err, want)
		}
	}
	f, path := opened(t, "old")
	if err := os.Chmod(path, 0o440); err != nil {
		t.Fatal(err)
	}
	f.Close()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Editable(); err == nil || !strings.Contains(err.Error(), "write-protected (mode 0440)") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(name("absent")); !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(f.Text, []byte("old")) {
		t.Errorf("%v, %q", err, f.Text)
	}
}
