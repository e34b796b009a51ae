package globscan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/policy"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "a.pem", "sub/b.pem", "sub/deep/c.pem", "sub/c.txt", "secret/inner/x", "bad\xff.pem", "new\nline.pem", ".gitignore")
	deny := policy.FileRequest{Place: "**/*.pem", Glob: true, Access: policy.Deny}
	denyDir := policy.FileRequest{Place: "secret", Glob: true, Access: policy.Deny}
	keep := policy.FileRequest{Place: "sub/*.txt", Glob: true, Access: policy.Read}
	got, err := Find(effective(t, dir, deny, denyDir, keep), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, fmt.Sprintf("%q %s", strings.TrimPrefix(r.Path, dir+"/"), r.Access))
	}
	slices.Sort(names)
	want := []string{`"a.pem" deny`, `"bad\xff.pem" deny`, `"new\nline.pem" deny`, `"secret" deny`, `"sub/b.pem" deny`, `"sub/c.txt" read`, `"sub/deep/c.pem" deny`}
	if !slices.Equal(names, want) {
		t.Errorf("got  %q\nwant %q", names, want)
	}
}

// TestEndsNeverHideAMatch: the quick look at a name must let through whatever
// the policy would match.
func TestEndsNeverHideAMatch(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", ".", "*", "?", "[ab]", "[", "]", "{a,b}", "{a,b/c}", "**", "pem", `\*`, "/"})
	rapid.Check(t, func(t *rapid.T) {
		glob := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "glob"), "")
		name := rapid.StringMatching(`[ab.\[\]*pem]{1,6}`).Draw(t, "name")
		eff, err := policy.Decide(policy.Scope{Cwd: "/p", Project: "/p", Home: "/nohome", Tmp: "/tmp"}, nil,
			[]policy.Layer{policy.Defaults(policy.Agent), {Kind: policy.LayerCommandLine,
				Request: policy.Request{Files: []policy.FileRequest{{Place: glob, Glob: true, Access: policy.Deny}}}}})
		if err != nil {
			t.Skip()
		}
		for _, dir := range []string{"/p", "/p/a", "/p/b/c"} {
			d := eff.Lookup(dir + "/" + name)
			parent := eff.Lookup(dir)
			if d.Rule == nil || d.Rule.Glob == "" || parent.Access == policy.Deny {
				continue
			}
			e := endsOf(d.Rule.Glob)
			if !strings.HasPrefix(name, e.prefix) || !strings.HasSuffix(name, e.suffix) {
				t.Fatalf("glob %q matches %q, its ends %+v do not", d.Rule.Glob, dir+"/"+name, e)
			}
		}
	})
}

// TestEndsOfTheRoot: what names the root is about all that is in it.
func TestEndsOfTheRoot(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{dir + "/a", dir + "/b"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, glob := range []string{"/", "/.", "/**", "/{}"} {
		eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir}, nil, []policy.Layer{{Kind: policy.LayerCommandLine, Request: policy.Request{Files: []policy.FileRequest{
			{Place: dir, Access: policy.Write}, {Place: glob, Glob: true, Access: policy.Read}}}}})
		if err != nil {
			t.Fatalf("%q: %v", glob, err)
		}
		found, err := Find(eff, []string{dir}, nil)
		if err != nil || len(found) != 3 {
			t.Errorf("%q: %v, found %+v, want the directory and both files", glob, err, found)
		}
	}
}

func TestBase(t *testing.T) {
	for glob, want := range map[string]string{"/a/b/**/*.x": "/a/b", "/a/b*": "/a", "/**": "/", "/a/{b,c}/d": "/a", `/a/b\*c`: "/a", "/a/b": "/a"} {
		if got := Base(glob); got != want {
			t.Errorf("%q: got %q want %q", glob, got, want)
		}
	}
}

func BenchmarkFind50k(b *testing.B) {
	dir := b.TempDir()
	for d := range 500 {
		sub := filepath.Join(dir, fmt.Sprint("d", d))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprint("f", f, ".go")), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	var globs []policy.FileRequest
	for _, g := range []string{"**/*.pem", "**/*.key", "**/id_rsa*", "**/.env.*", "**/secrets.json"} {
		globs = append(globs, policy.FileRequest{Place: g, Glob: true, Access: policy.Deny})
	}
	eff := effective(b, dir, globs...)
	for b.Loop() {
		if _, err := Find(eff, []string{dir}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func effective(t testing.TB, project string, files ...policy.FileRequest) *policy.Effective {
	t.Helper()
	eff, err := policy.Decide(policy.Scope{Cwd: project, Project: project, Home: "/nohome", Tmp: "/tmp"}, nil,
		[]policy.Layer{policy.Defaults(policy.Agent), {Kind: policy.LayerCommandLine, Request: policy.Request{Files: files}}})
	if err != nil {
		t.Fatal(err)
	}
	return eff
}

func tree(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		full := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
