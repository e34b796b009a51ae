//go:build unix

package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func at(t *testing.T) string { return filepath.Join(t.TempDir(), "config", "carrel", "profiles") }

func put(dir, name, text string, replace bool) error {
	_, err := Put(dir, []Item{{Name: name, Text: []byte(text)}}, replace, false)
	return err
}

func TestDir(t *testing.T) {
	tests := []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/carrel/profiles"},
		{"", "/h", "/h/.config/carrel/profiles"},
		{"rel", "/h", "/h/.config/carrel/profiles"},
		{"", "rel", ""},
	}
	for _, tt := range tests {
		got := Dir(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": tt.xdg, "HOME": tt.home}[name] })
		if got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

func TestPutLoadDelete(t *testing.T) {
	dir := at(t)
	if names, err := List(dir); err != nil || len(names) != 0 {
		t.Fatalf("before: %v, %v", names, err)
	}
	if _, err := Load(dir, "a"); !errors.Is(err, ErrNone) {
		t.Errorf("before: %v", err)
	}
	if s, err := Put(dir, []Item{{"a", []byte("{}\n")}}, false, true); err != nil || len(s) != 1 || s[0].Replaced {
		t.Errorf("dry: %+v, %v", s, err)
	}
	if _, err := os.Lstat(filepath.Dir(dir)); err == nil {
		t.Error("a dry run made a directory")
	}
	if err := put(dir, "a", "# mine\nhome: none\n", false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, File(dir, "a"): 0o600} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	if err := put(dir, "a", "home: full\n", false); !errors.Is(err, ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if s, err := Put(dir, []Item{{"a", []byte("home: full\n")}}, true, true); err != nil || !s[0].Replaced || s[0].Same {
		t.Errorf("dry: %+v, %v", s, err)
	}
	if text, _ := Text(dir, "a"); string(text) != "# mine\nhome: none\n" {
		t.Errorf("got %q", text)
	}
	if err := put(dir, "a", "home: full\n", true); err != nil {
		t.Error(err)
	}
	if p, err := Load(dir, "a"); err != nil || p.Name != "a" || p.Request.Home.V != "full" || p.Request.Home.Source.File != File(dir, "a") {
		t.Errorf("got %+v, %v", p, err)
	}
	// All or none.
	if _, err := Put(dir, []Item{{"b", []byte("{}")}, {"a", []byte("{}")}}, false, false); !errors.Is(err, ErrExists) {
		t.Errorf("two: %v", err)
	}
	if names, _ := List(dir); strings.Join(names, " ") != "a" {
		t.Errorf("names %v", names)
	}
	if err := Delete(dir, "a", true); err != nil {
		t.Error(err)
	}
	if err := Delete(dir, "a", false); err != nil {
		t.Error(err)
	}
	if err := Delete(dir, "a", false); !errors.Is(err, ErrNone) {
		t.Errorf("again: %v", err)
	}
	if err := put(dir, "../a", "{}", false); err == nil {
		t.Error("a name that climbs is taken")
	}
}

func TestUnsafePlaces(t *testing.T) {
	tests := []struct {
		what, want string
		make       func(dir string) error
	}{
		{"a directory that others can write", "can be changed by others", func(dir string) error { return os.Chmod(dir, 0o777) }},
		{"a parent that the group can write", "can be changed by others", func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o770) }},
		{"a file that others can write", "can be changed by others", func(dir string) error { return os.Chmod(File(dir, "a"), 0o606) }},
		{"a link as the directory", "is no directory", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		}},
		{"a link as the file", "is no regular file", func(dir string) error {
			return errors.Join(os.Rename(File(dir, "a"), dir+"/x"), os.Symlink("x", File(dir, "a")))
		}},
		{"a directory as the file", "is no regular file", func(dir string) error {
			return errors.Join(os.Remove(File(dir, "a")), os.Mkdir(File(dir, "a"), 0o700))
		}},
	}
	for _, tt := range tests {
		dir := at(t)
		if err := put(dir, "a", "{}\n", false); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, "a"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: load: %v", tt.what, err)
		}
		if err := put(dir, "a", "home: none\n", true); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: put: %v", tt.what, err)
		}
	}
	// What is reached through a link above is somebody's dot files.
	dir := at(t)
	if err := put(dir, "a", "{}\n", false); err != nil {
		t.Fatal(err)
	}
	above := filepath.Dir(dir)
	if err := errors.Join(os.Rename(above, above+"2"), os.Symlink(above+"2", above)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, "a"); err != nil {
		t.Error(err)
	}
	// What another user owns is refused, which root alone can set up.
	if os.Getuid() == 0 {
		if err := os.Chown(File(dir, "a"), 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, "a"); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("another's file: %v", err)
		}
	}
}

// TestLeftovers: what a killed writer left is nobody's profile, and gone with
// the next writer. What was put in its place by a link is not written through.
func TestLeftovers(t *testing.T) {
	dir := at(t)
	if err := put(dir, "a", "{}\n", false); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("v"), 0o600), os.Symlink(victim, filepath.Join(dir, newName))); err != nil {
		t.Fatal(err)
	}
	if err := put(dir, "b", "{}\n", false); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "v" {
		t.Error("written through a link")
	}
	if names, _ := List(dir); strings.Join(names, " ") != "a b" {
		t.Errorf("names %v", names)
	}
	if _, err := os.Lstat(filepath.Join(dir, newName)); err == nil {
		t.Error("something is left behind")
	}
}

// TestConcurrentWriters: of many at once each update is in, of many of one name
// exactly one is first, and who reads meanwhile finds a whole file.
func TestConcurrentWriters(t *testing.T) {
	dir := at(t)
	const writers, each = 8, 10
	var wait sync.WaitGroup
	won := make(chan string, writers)
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				if err := put(dir, fmt.Sprintf("p%d-%d", w, i), fmt.Sprintf("description: %q\n", strings.Repeat(fmt.Sprint(w), 5000)), false); err != nil {
					t.Error(err)
				}
				if err := put(dir, "both", fmt.Sprintf("description: %q\n", strings.Repeat(fmt.Sprint(w), 5000)), true); err != nil {
					t.Error(err)
				}
				if p, err := Load(dir, "both"); err != nil || len(p.Description) != 5000 {
					t.Errorf("read %v", err)
				}
			}
			switch err := put(dir, "first", "{}\n", false); {
			case err == nil:
				won <- fmt.Sprint(w)
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if len(won) != 1 {
		t.Errorf("%d were first", len(won))
	}
	if names, err := List(dir); err != nil || len(names) != writers*each+2 {
		t.Errorf("%d profiles, %v", len(names), err)
	}
}
