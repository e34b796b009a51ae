package hostview

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// tree describes a fake root: "path/" is a directory, a value that starts with
// "-> " a symbolic link, everything else a file.
type tree map[string]string

const (
	testHome    = "/home/u"
	testProject = "/home/u/src/p"
)

// build writes a tree below a temporary directory.
func build(t testing.TB, files tree) string {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"/usr/bin", "/usr/lib", "/etc", testProject} {
		mkdir(t, root+d)
	}
	for p, content := range files {
		if strings.HasSuffix(p, "/") {
			mkdir(t, root+p)
			continue
		}
		mkdir(t, filepath.Dir(root+p))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, root+p); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(root+p, []byte(content), mode(p)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mode(p string) os.FileMode {
	if strings.Contains(p, "/bin/") {
		return 0o755
	}
	return 0o644
}

func mkdir(t testing.TB, p string) {
	t.Helper()
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
}

func options(root string, env ...string) Options {
	return Options{
		Home: testHome, Project: testProject, UID: 1000, GID: 1000, User: "u",
		Environ: env, HomeMode: policy.HomeToolchains, Root: root,
	}
}

// inspect runs Inspect on a tree with the usual options.
func inspect(t testing.TB, files tree, env ...string) *View {
	t.Helper()
	return inspectWith(t, options(build(t, files), env...))
}

func inspectWith(t testing.TB, o Options) *View {
	t.Helper()
	v, err := Inspect(o)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	return v
}

// access is the access a default rule gives to exactly this place.
func access(v *View, place string) policy.Access {
	a := policy.Unset
	for _, r := range v.Rules {
		if r.Place == place && r.Access > a {
			a = r.Access
		}
	}
	return a
}

func file(v *View, p string) (File, bool) {
	for _, f := range v.Files {
		if f.Path == p {
			return f, true
		}
	}
	return File{}, false
}

func mustFile(t *testing.T, v *View, p string) string {
	t.Helper()
	f, ok := file(v, p)
	if !ok {
		t.Fatalf("no generated file %q", p)
	}
	return string(f.Data)
}

func cacheAt(v *View, p string) (Cache, bool) {
	for _, c := range v.Caches {
		if c.Path == p {
			return c, true
		}
	}
	return Cache{}, false
}

func hasLink(v *View, p, target string) bool {
	for _, l := range v.Symlinks {
		if l.Path == p && l.Target == target {
			return true
		}
	}
	return false
}

func hasNote(v *View, part string) bool {
	for _, n := range v.Notes {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}
