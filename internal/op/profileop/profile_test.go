package profileop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/op"
)

// caller asks in a directory that is not that of this process, with a home of its own.
func caller(t *testing.T, ceiling string) *op.Caller {
	t.Helper()
	home := t.TempDir()
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	texts := []config.CeilingText{}
	if ceiling != "" {
		texts = append(texts, config.CeilingText{Source: "ceiling.yaml", Content: []byte(ceiling)})
	}
	return &op.Caller{
		Dir: project, Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_CONFIG_HOME=" + filepath.Join(home, "config")},
		Ceilings: func() ([]config.CeilingText, error) { return texts, nil },
	}
}

const shop = "# the shop\ndescription: the shop\nnetwork: local\nenv:\n  TOKEN: secret\n"

// TestSave: a profile is saved as it stands, replaced only where that was said, and a dry run
// writes nothing.
func TestSave(t *testing.T) {
	c := caller(t, "")
	in := SaveRequest{Name: "shop", Text: []byte(shop), From: "standard input", DryRun: true}
	saved, err := Put(c, in)
	if err != nil || len(saved) != 1 || saved[0].Action != "create" || saved[0].Saved {
		t.Fatalf("a dry run: %+v, %v", saved, err)
	}
	if list, err := List(c); err != nil || list == nil || len(list) != 0 {
		t.Fatalf("after a dry run: %+v, %v", list, err)
	}
	in.DryRun = false
	if saved, err = Put(c, in); err != nil || !saved[0].Saved {
		t.Fatalf("%+v, %v", saved, err)
	}
	if _, err = Put(c, in); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a second one of its name: %v", err)
	}
	in.Replace = true
	if saved, err = Put(c, in); err != nil || saved[0].Action != "replace" || saved[0].Changed {
		t.Errorf("replaced by itself: %+v, %v", saved, err)
	}
	if got, err := Export(c, "shop"); err != nil || string(got.Text) != shop {
		t.Errorf("exported %q, %v", got.Text, err)
	}
	x, err := Show(c, "shop", false)
	if err != nil || len(x.Env) != 1 || x.Env[0].Value != nil || x.Env[0].Bytes != len("secret") {
		t.Errorf("shown without values: %+v, %v", x, err)
	}
	if x, err = Show(c, "shop", true); err != nil || *x.Env[0].Value != "secret" {
		t.Errorf("shown with values: %+v, %v", x, err)
	}
	if gone, err := Delete(c, "shop", true); err != nil || gone.Deleted {
		t.Errorf("a dry run: %+v, %v", gone, err)
	}
	if gone, err := Delete(c, "shop", false); err != nil || !gone.Deleted {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := Show(c, "shop", false); err == nil || !strings.Contains(err.Error(), "profile list") {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestImport: what has no form here is given with what was saved, and is no error.
func TestImport(t *testing.T) {
	c := caller(t, "")
	foreign := `{"id": "theirs", "width": 800}`
	saved, lost, err := Import(c, SaveRequest{Name: "mine", Text: []byte(foreign), From: "standard input"})
	if err != nil || len(saved) != 1 || saved[0].Name != "mine" || len(lost) != 1 || len(saved[0].Lost) != 1 {
		t.Errorf("%+v, %+v, %v", saved, lost, err)
	}
	if _, _, err := Import(c, SaveRequest{Name: "no/name", Text: []byte(shop)}); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("a name that is none: %v", err)
	}
}

// TestCeiling: what the caller's ceiling does not allow is neither saved nor a template.
func TestCeiling(t *testing.T) {
	c := caller(t, "network: local\n")
	wide := strings.Replace(shop, "local", "open", 1)
	if _, err := Put(c, SaveRequest{Name: "shop", Text: []byte(wide)}); err == nil {
		t.Error("a profile beyond the ceiling is saved")
	}
	if list, err := List(c); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := Template(c, TemplateRequest{Kind: "restricted-browser", Hosts: []string{"example.com"}}); err == nil {
		t.Error("a template beyond the ceiling is printed")
	}
}

// TestRelative: a relative directory is in the caller's, and a path has no profile of a
// name that is none.
func TestRelative(t *testing.T) {
	c := caller(t, "")
	got, err := Template(c, TemplateRequest{Kind: "project-dev", Project: "web"})
	if err != nil || !strings.Contains(string(got.Yaml), filepath.Join(c.Dir, "web")) {
		t.Errorf("%+v, %v", got, err)
	}
	dir, err := Path(c, "")
	if file, err2 := Path(c, "shop"); err != nil || err2 != nil || file != filepath.Join(dir, "shop.yaml") {
		t.Errorf("%q, %q: %v, %v", dir, file, err, err2)
	}
	if _, err := Path(c, "../shop"); err == nil {
		t.Error("a path for a name that is none")
	}
	c.Environ = nil
	if _, err := List(c); err == nil || !strings.Contains(err.Error(), "no place for profiles") {
		t.Errorf("without a home: %v", err)
	}
}
