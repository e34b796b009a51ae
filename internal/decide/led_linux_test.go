package decide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/hostfacts"
)

// TestLed: what says with which program a link is opened outside is nothing that
// programs inside write, by whatever links it is reached.
func TestLed(t *testing.T) {
	for _, row := range []struct {
		about string
		links []string // from, to
		files []string
		led   string
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
		if row.led != "" {
			want = filepath.Join(d.home, row.led)
		}
		if got := p.OpenerLed(); got != want {
			t.Errorf("%s: %q, want %q", row.about, got, want)
		}
	}
}

// TestPulseCookie: only a whole one that nobody inside can put in place.
func TestPulseCookie(t *testing.T) {
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
	d.write(at, strings.Repeat("x", cookieSize))
	if got := p.PulseCookie(); got != at {
		t.Errorf("the person's own: %q", got)
	}
	d.write(d.project+"/cookie", strings.Repeat("x", cookieSize))
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

// TestLedOnTheWay: what programs inside can exchange on the way to a place counts, by
// whatever spelling and through whatever links, and each time as it is then.
func TestLedOnTheWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "proj/sub/f", "home/f", "home/d/f")
	for name, to := range map[string]string{
		"home/.gitconfig": dir + "/proj/link", "proj/link": "../home/f", "home/fine": "f", "home/far": dir + "/home/fine", "home/up": "../proj/sub/../../home/f", "home/loop": "loop", "home/gone": "../proj/none", "home/pd": "../proj", "home/ps": "../proj/sub", "top": "home",
		"home/over": "../proj/link/../f", "home/dd": "../proj/dlink/f", "proj/dlink": "../home/d",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Decision{Facts: hostfacts.New(), Policy: effective(t, dir+"/proj")}
	for name, want := range map[string]bool{
		"proj/f": true, "proj": true, "proj/": true, "proj/none": true, "proj/sub/f": true, "home/f": false, "home/none": false, "home/none/x": false, "home/fine": false, "home/far": false, "top/fine": false, "home/d/../f": false,
		"home/.gitconfig": true, "proj/link": true, "top/.gitconfig": true, "home/up": true, "home/loop": true, "home/gone": true, "home/pd/f": true, "home/pd/../home/f": true, "home/ps/../f": true, "home/over": true, "home/dd": true, "home/f/x": false, "proj/../home/f": true, "home/../home/f": false,
	} {
		if got := p.led(dir + "/" + name); got != want {
			t.Errorf("%s: writable is %v", name, got)
		}
	}
	if !p.led("home/f") {
		t.Error("a place that begins nowhere is not refused")
	}
	if err := os.Remove(dir + "/home/fine"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../proj/f", dir+"/home/fine"); err != nil || !p.led(dir+"/home/far") {
		t.Errorf("an answer is remembered: %v", err)
	}
}

// TestLedBelowLinks: settings of the person's that are links into the project can be written
// from inside, those that lead elsewhere cannot.
func TestLedBelowLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "home/.gnupg/gpg.conf", "home/.config/gh/config.yml", "home/dots/f")
	p := &Decision{Facts: hostfacts.New(), Policy: effective(t, dir+"/proj")}
	if p.ledBelow(dir+"/home/.gnupg") || p.ledBelow(dir+"/home/.config/gh") {
		t.Fatal("the person's own can be written inside")
	}
	link := func(name, to string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("home/.gnupg/gpg.conf", "home/dots/f")
	if p.ledBelow(dir + "/home/.gnupg") {
		t.Error("a link elsewhere")
	}
	link("home/.gnupg/gpg.conf", "proj/f")
	link("home/.config/gh/config.yml", "proj/none")
	if !p.ledBelow(dir+"/home/.gnupg") || !p.ledBelow(dir+"/home/.config/gh") {
		t.Error("links into the project are not seen")
	}
}
