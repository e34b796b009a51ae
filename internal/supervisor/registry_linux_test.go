package supervisor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/procfs"
	"carrel/internal/registry"
)

// place makes an empty place for the registry.
func place(t *testing.T) string {
	t.Helper()
	above := filepath.Join(t.TempDir(), "rt")
	if err := os.Mkdir(above, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(above, "carrel")
}

func plant(t *testing.T, dir string, m api.Manifest) {
	t.Helper()
	text, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	for _, end := range []string{".json", ".sock"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, m.ID+end), text, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestSweep: what is dead goes, what lives or cannot be judged stays.
func TestSweep(t *testing.T) {
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zombie.Wait() }()
	waitFor(t, "a zombie", func() bool { s, err := procfs.ReadStat(zombie.Process.Pid); return err == nil && s.Gone() })
	z, _ := procfs.ReadStat(zombie.Process.Pid)
	for _, c := range []struct {
		name   string
		change func(*api.Manifest)
		listed bool
		stays  bool
	}{
		{"alive", func(*api.Manifest) {}, true, true},
		{"dead", func(m *api.Manifest) { m.PID = ended.Process.Pid }, false, false},
		{"ended, not collected", func(m *api.Manifest) { m.PID, m.Start = zombie.Process.Pid, z.Start }, false, false},
		{"number used again", func(m *api.Manifest) { m.Start++ }, false, false},
		{"before a reboot", func(m *api.Manifest) { m.Boot = "earlier" }, false, false},
		{"another pid namespace", func(m *api.Manifest) { m.PIDNamespace = "pid:[1]"; m.PID = ended.Process.Pid }, true, true},
		{"a name of another", func(m *api.Manifest) { m.PID = ended.Process.Pid }, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, m := place(t), me
			m.ID = "ab12"
			c.change(&m)
			plant(t, dir, m)
			file := dir + "/ab12.json"
			if c.name == "a name of another" {
				file = dir + "/ffff.json"
				if err := os.Rename(dir+"/ab12.json", file); err != nil {
					t.Fatal(err)
				}
			}
			found, err := Find([]string{dir, dir + "-none"})
			if err != nil || (len(found) == 1) != c.listed {
				t.Errorf("found %v, %v", found, err)
			}
			if exists(file) != c.stays || exists(dir+"/ab12.sock") != c.stays || exists(dir) != c.stays {
				t.Errorf("left: %t %t %t", exists(file), exists(dir+"/ab12.sock"), exists(dir))
			}
		})
	}
}

// TestEmptyPlace: a supervisor that was killed before it had registered leaves its
// directory; the next look takes it away.
func TestEmptyPlace(t *testing.T) {
	dir := place(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := Find([]string{dir}); err != nil || len(found) > 0 || exists(dir) {
		t.Errorf("found %v, %v; there is still a directory: %t", found, err, exists(dir))
	}
}

// TestUnsafePlaces: a place that somebody else could have prepared is refused,
// and another one is taken.
func TestUnsafePlaces(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"open to the group":    func(dir string) error { return os.Mkdir(dir, 0o750) },
		"a link":               func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"a file":               func(dir string) error { return os.WriteFile(dir, nil, 0o700) },
		"above: a link":        func(dir string) error { return swapForLink(filepath.Dir(dir)) },
		"above: world writes":  func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
		"of somebody else":     func(dir string) error { return ownedByOther(dir) },
		"above: somebody else": func(dir string) error { return os.Chown(filepath.Dir(dir), 65534, 65534) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "somebody") && os.Getuid() != 0 {
				t.Skip("making files of somebody else takes root")
			}
			bad, good := place(t), place(t)
			if err := spoil(bad); err != nil {
				t.Fatal(err)
			}
			if _, err := Find([]string{bad}); err == nil {
				t.Error("it was looked into")
			}
			if s, err := Serve(Config{ID: "ab12", Dirs: []string{bad}}); err == nil {
				s.Close()
				t.Error("it was used")
			}
			s, err := Serve(Config{ID: "ab12", Dirs: []string{bad, good}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if found, _ := Find([]string{bad, good}); err != nil || len(found) != 1 {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}

func swapForLink(dir string) error {
	if err := os.Rename(dir, dir+"2"); err != nil {
		return err
	}
	return os.Symlink(dir+"2", dir)
}

func ownedByOther(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chown(dir, 65534, 65534)
}

// TestHostileManifests: files that are no manifests stop nobody.
func TestHostileManifests(t *testing.T) {
	dir := place(t)
	s, err := Serve(Config{ID: "ab12", Started: time.Now(), Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, text := range map[string]string{"aa.json": "", "ab.json": "{", "ac.json": strings.Repeat(" ", registry.MaxManifest+10), "..json": "{}", "ad.json": `{"id":"../x"}`} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", dir+"/ae.json"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/af.json", 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Find([]string{dir}); err != nil || len(found) != 1 || found[0].ID != "ab12" {
		t.Errorf("%v, %v", found, err)
	}
}

// TestRegistryIsLeftClean: many runs at once in one place, which each takes
// away when it is empty, and a path too long for an address.
func TestRegistryIsLeftClean(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("l", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(long, "carrel")
	done := make(chan error, 8)
	for i := range cap(done) {
		go func() {
			var err error
			for j := 0; j < 30 && err == nil; j++ {
				var s *Server
				if s, err = Serve(Config{ID: string("abcdef01"[i]), Dirs: []string{dir}}); err == nil {
					_, err = Find([]string{dir})
				}
				s.Close()
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if exists(dir) {
		t.Error("the empty directory stays")
	}
}
