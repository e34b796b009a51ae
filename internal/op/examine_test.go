package op

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/config"
)

// TestLimaAsked: the user's configuration says whether backend lima is examined, and with which
// image. A project cannot, and a file with a mistake is told.
func TestLimaAsked(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		wanted              bool
		image, refused      string
		told                string
	}{
		{"nothing", "", "", false, "", "no disk image", ""},
		{"the backend", "backend: lima\n", "", true, "", "no disk image", ""},
		{"another backend", "backend: process\n", "", false, "", "no disk image", ""},
		{"a setting", "lima: {cpus: 3}\n", "", true, "", "no disk image", ""},
		{"a path", "lima: {image: /i.qcow2}\n", "", true, "/i.qcow2", "", ""},
		{"a URL without a digest", "lima: {image: 'https://example.org/i'}\n", "", true, "", "no digest", ""},
		{"a project", "", "backend: lima\nlima: {image: /i}\n", false, "", "no disk image", ""},
		{"a mistake", "lima: {image: 3}\n", "", false, "", "", "lima.image"},
	} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{".config/carrel/config.yaml": c.user, "p/.carrel.yaml": c.project, "p/.git/HEAD": "x"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		told := ""
		asked := limaAsked(configuredHere(&Caller{Dir: home + "/p", Environ: []string{"HOME=" + home}, Notice: func(text string) { told += text },
			Ceilings: func() ([]config.CeilingText, error) { return nil, nil }}))
		refused := ""
		if asked.Refused != nil {
			refused = asked.Refused.Error()
		}
		if asked.Wanted != c.wanted || asked.Image != c.image || !strings.Contains(refused, c.refused) || (refused == "") != (c.refused == "") ||
			!strings.Contains(told, c.told) || (told == "") != (c.told == "") {
			t.Errorf("%s: %+v, told %q", c.name, asked, told)
		}
	}
}

// TestContainersHere: an engine is asked only where the user's configuration asks for containers.
func TestContainersHere(t *testing.T) {
	for _, c := range []struct {
		name, user string
		wanted     bool
	}{
		{"nothing", "", false}, {"the backend", "backend: container\n", true}, {"another one", "backend: process\n", false},
		{"an image", "container: {image: localhost/i}\n", true}, {"an engine", "container: {engine: podman}\n", true},
	} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err == nil {
			err = os.MkdirAll(home+"/.config/carrel", 0o700)
		}
		if err == nil {
			err = os.WriteFile(home+"/.config/carrel/config.yaml", []byte(c.user), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		caller := &Caller{Dir: home, Environ: []string{"HOME=" + home}, Notice: func(text string) { t.Error(text) },
			Ceilings: func() ([]config.CeilingText, error) { return nil, nil }}
		if here := containersHere(caller, configuredHere(caller)); here.Wanted != c.wanted || (here.Program == "") != (here.Refused != nil) {
			t.Errorf("%s: %+v", c.name, here)
		}
	}
}
