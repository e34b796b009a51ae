package decide

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestProjectVariables: of the variables that a project's devcontainer.json sets, those stay
// that the user lets projects set, and what the user sets or drops comes before them.
func TestProjectVariables(t *testing.T) {
	if _, err := os.Stat("/usr/bin/podman"); err != nil {
		t.Skip("podman is not installed here; make test installs it")
	}
	d := mountHome(t)
	text := `{"containerEnv": {"APP_OWN": "project", "APP_SET": "project", "APP_DROPPED": "project", "OTHER": "project"}}`
	if err := os.WriteFile(filepath.Join(d.project, ".devcontainer.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := d.mounted("backend: container\ncontainer: {image: localhost/x, project_env: [APP_*]}\n"+
		"environment: {drop: [APP_DROPPED], set: {APP_SET: user}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := chooseContainer(p); err != nil {
		t.Fatal(err)
	}
	env := p.Environ()
	for word, want := range map[string]bool{
		"APP_OWN=project": true, "APP_SET=user": true, "APP_DROPPED=project": false, "APP_SET=project": false, "OTHER=project": false,
	} {
		if slices.Contains(env, word) != want {
			t.Errorf("%s: %v, want %v, in %q", word, !want, want, env)
		}
	}
}
