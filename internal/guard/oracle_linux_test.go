package guard

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/gitconf"
)

// words builds a name of up to most pieces.
func words(r *rand.Rand, pieces []string, most int) string {
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// TestPathsOfIndexAsGit: a path that git itself would not check out is refused, where git
// guards the file systems of other machines as well.
func TestPathsOfIndexAsGit(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 26))
	gitMust(t, dir, "", "init", "-q")
	pieces := []string{".git", ".GIT", ".Git", "git~1", "GIT~1", "git~2", ".g", "it", "\u200c", "\u202a", "/", "/", "/", ".", " ",
		":x", "::$DATA", "a", "é", "~1", ".gitmodules", "\\", "::$INDEX_ALLOCATION"}
	var names []string
	for len(names) < 3000 {
		name := words(r, pieces, 6)
		parts := strings.Split(name, "/")
		// Git itself resolves these before it looks at the path; TestInTree has them.
		if !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." }) && !strings.Contains(name, "\n") {
			names = append(names, name)
		}
	}
	_, errs, ok := gitOutput(t, dir, strings.Join(names, "\x00")+"\x00",
		"-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "update-index", "--force-remove", "-z", "--stdin")
	if !ok {
		t.Fatalf("%.500s", errs)
	}
	refused := make(map[string]bool)
	for line := range strings.Lines(errs) {
		if name, ignored := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Ignoring path "); ignored {
			refused[name] = true
		}
	}
	if len(refused) < 100 || len(refused) > len(names)-100 {
		t.Fatalf("git refuses %d of %d: the names say nothing", len(refused), len(names))
	}
	stricter := 0
	for _, name := range names {
		switch err := inTree(name); {
		case refused[name] && err == nil:
			t.Errorf("%q: git refuses it, and it passes", name)
		case !refused[name] && err != nil:
			stricter++
		}
	}
	if stricter > len(names)/10 {
		t.Errorf("%d of %d paths that git checks out are refused", stricter, len(names))
	}
}

// TestNamesOfReferencesAsGit: a name is one of a reference where git says so.
func TestNamesOfReferencesAsGit(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(2, 26))
	gitMust(t, dir, "", "init", "-q")
	pieces := []string{"a", "b", "/", "/", ".", "..", ".lock", "@", "{", "@{", "~", "^", ":", "?", "*", "[", "\\", "\x7f", "\x01",
		"é", "-", "HEAD", "lock"}
	var names []string
	for range 3000 {
		names = append(names, "refs/heads/"+words(r, pieces, 5))
	}
	valid := make(map[string]bool)
	for line := range strings.SplitSeq(gitMust(t, dir, strings.Join(names, "\n")+"\n", "show-ref", "--exclude-existing"), "\n") {
		valid[line] = true
	}
	for _, name := range names {
		if got := isReference(name); got != valid[name] {
			t.Errorf("%q: %v, and git says %v", name, got, valid[name])
		}
	}
}

// TestPackedReferencesAsGit: what git packs is read as git reads it.
func TestPackedReferencesAsGit(t *testing.T) {
	dir := t.TempDir()
	must := func(args ...string) string { t.Helper(); return gitMust(t, dir, "", args...) }
	must("init", "-q", "-b", "main")
	must("commit", "-q", "--allow-empty", "-m", "x")
	for i, name := range []string{"a", "b/c", "b/d", "é", "x.y", "zz-0"} {
		must("branch", name)
		if i%2 == 0 {
			must("tag", "-a", "-m", "x", "t-"+strings.ReplaceAll(name, "/", "."))
		}
	}
	must("pack-refs", "--all")
	text, err := os.ReadFile(dir + "/.git/packed-refs")
	if err != nil {
		t.Fatal(err)
	}
	got, err := packedRefs(text)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for line := range strings.Lines(must("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")) {
		ref, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if hash, peeled, _ := strings.Cut(value, " "); peeled != "" {
			value = hash + " ^" + peeled
		}
		want[ref] = strings.TrimSpace(value)
	}
	if len(want) < 9 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it is read as\n%v, and git reads\n%v", got, want)
	}
}

// TestHashOfConfigurationAsGit: where git reads a configuration, names of objects are as
// long as it takes them to be.
func TestHashOfConfigurationAsGit(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(3, 26))
	tree(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/": "", ".git/refs/": ""})
	keys := []string{"objectformat", "objectFormat", "ObjectFormat", "compatobjectformat"}
	values := []string{"sha1", "sha256", "\"sha256\"", "sha\\\n256", "sha256 ; x", "\"sha\"1"}
	understood := 0
	for range 40 {
		var b strings.Builder
		b.WriteString("[core]\n\trepositoryformatversion = 1\n")
		for range 1 + r.IntN(3) {
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", []string{"extensions", "Extensions", "extensions \"x\"", "core"}[r.IntN(4)],
				keys[r.IntN(3)], values[r.IntN(len(values))])
		}
		tree(t, dir, map[string]string{".git/config": b.String()})
		out, _, ok := gitOutput(t, dir, "", "rev-parse", "--show-object-format")
		if !ok {
			continue
		}
		understood++
		want := map[string]int{"sha1\n": gitconf.SHA1, "sha256\n": gitconf.SHA256}[out]
		if got := hashBy([]byte(b.String())); got != want {
			t.Errorf("%s: %d, and git says %s", b.String(), got, out)
		}
	}
	if understood < 10 {
		t.Errorf("git read only %d of them", understood)
	}
}

// TestGitDirectoriesAsGit: what git takes for a git directory is one here, whatever it is
// called, and what is in it is judged so.
func TestGitDirectoriesAsGit(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(4, 26))
	pieces := [][]string{
		{"HEAD", "ref: refs/heads/main\n"}, {"HEAD", "0123456789012345678901234567890123456789\n"}, {"HEAD", "-> refs/heads/x"}, {"HEAD",
			"nonsense"},
		{"objects/", ""}, {"refs/", ""}, {"objects/x", ""}, {"refs", "-> ../all/refs"}, {"objects", "-> ../all/objects"}, {"commondir",
			"../all\n"},
		{"config", "[core]\n\tbare = true\n"}, {"objects", ""}, {"HEAD", "ref: refs/heads/y\n"}, {"refs/heads/", ""},
	}
	tree(t, dir, map[string]string{"all/objects/": "", "all/refs/": "", "all/HEAD": "ref: refs/heads/main\n"})
	d := testGuard(t, dir, false)
	are := 0
	for n := range 60 {
		in := fmt.Sprintf("%s/r%d", dir, n)
		made := map[string]bool{}
		for range 2 + r.IntN(6) {
			p := pieces[r.IntN(len(pieces))]
			name, _, _ := strings.Cut(p[0], "/")
			if made[name] {
				continue
			}
			made[name] = true
			tree(t, in, map[string]string{p[0]: p[1]})
		}
		out, _, ok := gitOutput(t, in, "", "rev-parse", "--git-dir")
		if !ok || out != ".\n" {
			continue
		}
		are++
		if got := d.gitAround(in + "/sub/file"); got != in {
			t.Errorf("%v: git takes it for a git directory, here it is %q", made, got)
		}
		for _, name := range []string{"hooks/post-commit", "config.worktree", "info/attributes"} {
			if ok, _ := asks(d, change("create", in+"/"+name, 0), "", ""); ok {
				t.Errorf("%v: %s can be made in it", made, name)
			}
		}
	}
	if are < 5 {
		t.Errorf("git takes only %d for git directories: they say nothing", are)
	}
}

// TestIndexOfNestedRepositoryAsGit: an index of git's own by which git would write into
// another git directory is refused, unless the file lies there just so.
func TestIndexOfNestedRepositoryAsGit(t *testing.T) {
	dir := t.TempDir()
	must := func(input string, args ...string) string { t.Helper(); return gitMust(t, dir, input, args...) }
	must("", "init", "-q")
	config := must("[core]\n\tfsmonitor = x\n", "hash-object", "-w", "--stdin")
	empty := must("", "hash-object", "-w", "--stdin")
	d := testGuard(t, dir, false)
	index := func(entries ...string) []byte {
		t.Helper()
		_ = os.Remove(dir + "/.git/index")
		must(strings.Join(entries, "\n")+"\n", "update-index", "--add", "--index-info")
		text, err := os.ReadFile(dir + "/.git/index")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	entry := func(hash, name string) string { return "100644 " + hash + "\t" + name }
	bare := []string{entry(empty, "sub/HEAD"), entry(empty, "sub/objects/x"), entry(empty, "sub/refs/x"), entry(config, "sub/config")}
	whole, part := index(bare...), index(bare[0], bare[1], bare[3])
	for name, c := range map[string]struct {
		before, after []byte
		good          bool
	}{
		"a repository of four files":      {nil, whole, false},
		"no references, so no repository": {nil, part, true},
		"it was there before":             {whole, whole, true},
		"a part was there before":         {part, whole, false},
		"no index":                        {nil, []byte("DIRC"), false},
		"cut off":                         {nil, whole[:len(whole)-25], false},
	} {
		if err := d.vetIndexOf(dir+"/.git", c.before, c.after); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What lies there with just that content git leaves as it is.
	tree(t, dir, map[string]string{"sub/HEAD": "", "sub/objects/x": "", "sub/refs/x": "", "sub/config": "[core]\n\tfsmonitor = x\n"})
	if err := d.vetIndexOf(dir+"/.git", nil, whole); err != nil {
		t.Errorf("it lies there as the index says: %v", err)
	}
	if err := os.WriteFile(dir+"/sub/config", []byte("[core]\n\tfsmonitor = y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.vetIndexOf(dir+"/.git", nil, whole); err == nil {
		t.Error("git would replace the configuration")
	}
	// A directory that becomes a git directory later is judged by the index as well.
	for from, good := range map[string]bool{"sub": false, "other": true} {
		if err := d.indexedIn(dir+"/"+from, dir+"/"+from); (err == nil) != good {
			t.Errorf("%s becomes a git directory: %v", from, err)
		}
	}
}
