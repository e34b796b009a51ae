//go:build linux

package fileops

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBeneath: no path of a request that is held to a directory leaves it, as it is
// written, by a link, or by one that somebody exchanges for a directory meanwhile.
func TestBeneath(t *testing.T) {
	base := t.TempDir()
	dir, out := base+"/dir", base+"/out"
	for _, d := range []string{dir + "/sub", out} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{out + "/f", dir + "/sub/f"} {
		put(t, f, filepath.Base(filepath.Dir(f)))
	}
	for name, to := range map[string]string{"leads": out, "abs": out + "/f", "up": "../out/f", "in": "sub/f", "other": "../out"} {
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Do(t.Context(), dir, &ReadFile{Path: "in"}); err != nil || got.(*FileContent).Content != "sub" {
		t.Errorf("a link that stays in it: %v, %v", got, err)
	}
	outside := func(err error) bool {
		var e *Error
		return errors.As(err, &e) && e.Code == CodeOutside
	}
	for _, path := range []Path{"../out/f", "leads/f", "abs", "up", Path(out) + "/f", "sub/../../out/f", "leads", Path(dir) + "/up"} {
		for _, req := range []Request{&ReadFile{Path: path}, &ListDirectory{Path: path}, &WriteFile{Path: path, Content: "x"}, &EditFile{Path: path, Edit: Edit{Old: "out", New: "x"}}} {
			if _, err := Do(t.Context(), dir, req); !outside(err) {
				t.Errorf("%s of %q: %v", req.op(), path, err)
			}
		}
	}
	if _, err := Do(t.Context(), dir, &WriteFile{Path: "leads/new", Content: "x"}); !outside(err) {
		t.Errorf("a new file by a link: %v", err)
	}
	// Somebody exchanges a directory and a link, all the time.
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, dir+"/sub", unix.AT_FDCWD, dir+"/other", unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range 3000 {
		if got, err := Do(t.Context(), dir, &ReadFile{Path: "sub/f"}); err == nil && got.(*FileContent).Content != "sub" {
			t.Errorf("read %q", got.(*FileContent).Content)
		}
		_, _ = Do(t.Context(), dir, &WriteFile{Path: "sub/f", Content: "sub"})
	}
	close(stop)
	<-done
	if got, err := os.ReadFile(out + "/f"); string(got) != "out" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if names := list(t, out); len(names) != 1 {
		t.Errorf("outside: %q", names)
	}
}

// TestParentsGo: directories that were made for a file go when the file cannot be made.
func TestParentsGo(t *testing.T) {
	t.Chdir(t.TempDir())
	long := Path("a/b/" + string(make255()))
	if _, err := Do(t.Context(), "", &WriteFile{Path: long, Content: "x"}); err == nil {
		t.Fatal("it was written")
	}
	if _, err := os.Lstat("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a: %v", err)
	}
}

// make255 is a name that is too long for a file.
func make255() []byte {
	name := make([]byte, 300)
	for i := range name {
		name[i] = 'n'
	}
	return name
}
