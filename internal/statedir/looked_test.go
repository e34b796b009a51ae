package statedir

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLooked: what was kept comes back, unless another user could have written it.
func TestLooked(t *testing.T) {
	const project = "/home/u/p"
	data := []byte("found\x00")
	change := map[string]func(s *Dir, at string) error{
		"the canary":                 nil,
		"nothing there":              func(_ *Dir, at string) error { return os.Remove(at) },
		"others write the file":      func(_ *Dir, at string) error { return os.Chmod(at, 0o622) },
		"others write the directory": func(_ *Dir, at string) error { return os.Chmod(filepath.Dir(at), 0o770) },
		"others write all":           func(s *Dir, _ string) error { return os.Chmod(s.Root(), 0o707) },
		"a second name":              func(_ *Dir, at string) error { return os.Link(at, at+"2") },
		"a link": func(_ *Dir, at string) error {
			if err := os.Rename(at, at+"2"); err != nil {
				return err
			}
			return os.Symlink("looked2", at)
		},
		"a directory": func(_ *Dir, at string) error {
			if err := os.Remove(at); err != nil {
				return err
			}
			return os.Mkdir(at, 0o700)
		},
		"a link for the directory": func(s *Dir, at string) error {
			if err := os.Rename(filepath.Dir(at), s.Root()+"/other"); err != nil {
				return err
			}
			return os.Symlink("../other", filepath.Dir(at))
		},
	}
	for name, c := range change {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.TempDir() + "/carrel")
			if err != nil {
				t.Fatal(err)
			}
			s.KeepLooked(project, func() []byte { return data })()
			s.KeepLooked(project, func() []byte { return nil })()
			at := s.Project(project) + "/" + lookedFile
			st, err := os.Lstat(at)
			if err != nil || st.Mode() != 0o600 {
				t.Fatalf("%v, %v", st, err)
			}
			want := data
			if c != nil {
				want = nil
				if err := c(s, at); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Looked(project); !bytes.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	var none *Dir
	none.KeepLooked(project, func() []byte { return data })()
	if got := At("").Looked(project); got != nil {
		t.Errorf("without a state directory: %q", got)
	}
}
