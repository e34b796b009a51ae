package decide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenerWritable: what says with which program a link is opened outside is nothing that
// programs inside write, by whatever links it is reached.
func TestOpenerWritable(t *testing.T) {
	for _, row := range []struct {
		about  string
		links  []string // from, to
		files  []string
		opener string
	}{
		{"nothing special", nil, []string{".config/mimeapps.list", ".local/share/applications/b.desktop"}, ""},
		{"a link elsewhere", []string{".config/mimeapps.list", "../dots/mimeapps.list"}, []string{"dots/mimeapps.list"}, ""},
		{"a file of the project", []string{".config/mimeapps.list", "PROJECT/mimeapps.list"}, []string{"PROJECT/mimeapps.list"}, ".config/mimeapps.list"},
		{"one that is not there", []string{".config/mimeapps.list", "PROJECT/none"}, nil, ".config/mimeapps.list"},
		{"the directory", []string{".config", "PROJECT/config"}, []string{"PROJECT/config/x"}, ".config/mimeapps.list"},
		{"out again by a link of the project", []string{".config/mimeapps.list", "PROJECT/l", "PROJECT/l", "HOME/good"}, []string{"good"}, ".config/mimeapps.list"},
		{"one launcher", []string{".local/share/applications/a/b.desktop", "PROJECT/b.desktop"}, []string{"PROJECT/b.desktop"}, ".local/share/applications"},
		{"launchers through a link", []string{".local/share/applications/a", "HOME/dots", "dots/b.desktop", "PROJECT/b"}, nil, ".local/share/applications"},
		{"links in a circle", []string{".config/mimeapps.list", "other", ".config/other", "mimeapps.list"}, nil, ".config/mimeapps.list"},
		{"a directory in itself", []string{".local/share/applications/a", "HOME/.local/share/applications"}, nil, ""},
	} {
		d := newSavedHome(t)
		place := func(at string) string {
			at = strings.NewReplacer("PROJECT", d.project, "HOME", d.home).Replace(at)
			if filepath.IsAbs(at) {
				return at
			}
			return filepath.Join(d.home, at)
		}
		for _, f := range row.files {
			if err := os.MkdirAll(filepath.Dir(place(f)), 0o700); err != nil {
				t.Fatal(err)
			}
			d.write(place(f), "x")
		}
		for i := 0; i < len(row.links); i += 2 {
			to := strings.NewReplacer("PROJECT", d.project, "HOME", d.home).Replace(row.links[i+1])
			if err := os.MkdirAll(filepath.Dir(place(row.links[i])), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, place(row.links[i])); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(d.home+"/.config/carrel", 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := d.mounted("{}", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if row.opener != "" {
			want = filepath.Join(d.home, row.opener)
		}
		if got := p.OpenerWritable(); got != want {
			t.Errorf("%s: %q, want %q", row.about, got, want)
		}
	}
}

// TestPulseCookie: only a whole one that programs inside cannot put in place.
func TestPulseCookie(t *testing.T) {
	const cookie = 256 // bytes of a whole one
	d := newSavedHome(t)
	at := d.home + "/.config/pulse/cookie"
	for _, dir := range []string{filepath.Dir(at), d.home + "/.config/carrel"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, err := d.mounted("{}", nil)
	if err != nil {
		t.Fatal(err)
	}
	d.write(at, "short")
	if got := p.PulseCookie(); got != "" {
		t.Errorf("a short one: %q", got)
	}
	d.write(at, strings.Repeat("x", cookie))
	if got := p.PulseCookie(); got != at {
		t.Errorf("the person's own: %q", got)
	}
	d.write(d.project+"/cookie", strings.Repeat("x", cookie))
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.project+"/cookie", at); err != nil {
		t.Fatal(err)
	}
	if got := p.PulseCookie(); got != "" {
		t.Errorf("one of the project: %q", got)
	}
}
