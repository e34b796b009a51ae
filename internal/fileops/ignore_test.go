//go:build unix

package fileops

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gitTree makes a repository with files in it.
func gitTree(t interface{ Fatal(...any) }, dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// git runs git without the person's settings, in a home of its own.
func git(dir, home, input string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	return cmd.Output()
}

var (
	segments = []string{"a", "b", "ab", "a.c", "x y", "[z]", "é", "#h", "!n", `b\`, "a-b", ".d"}
	pieces   = []string{"a", "b", "c", ".c", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[[:alpha:]]", "[[:x:]]", "[a", `\a`, `\*`, `\ `, " ", "#", "!", "é", "x y", "-", `\`, ".d", "z", "[[z]"}
)

// TestIgnoredAsGit: on random trees and patterns, what is walked is what git does not
// ignore.
func TestIgnoredAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed here; make test installs it")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	lines := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			if rapid.IntRange(0, 3).Draw(t, "negated") == 0 {
				b.WriteString("!")
			}
			for range rapid.IntRange(1, 5).Draw(t, "pieces") {
				b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
			}
			b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "/\n", " \n", "\r\n"}).Draw(t, "end"))
		}
		return b.String()
	})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(home, fmt.Sprint("tree", n))
		files := make(map[string]string)
		for range rapid.IntRange(1, 8).Draw(t, "files") {
			parts := rapid.SliceOfN(rapid.SampledFrom(segments), 1, 4).Draw(t, "path")
			files[strings.Join(parts, "/")+"_"] = ""
			at := strings.Join(parts, "/")
			files[at+"/leaf"] = ""
		}
		inner := rapid.SampledFrom(append(segments, "")).Draw(t, "nested")
		files[filepath.Join(".", ".gitignore")] = lines.Draw(t, "top")
		files[filepath.Join(inner, ".gitignore")] = lines.Draw(t, "inner")
		gitTree(t, dir, files)
		defer os.RemoveAll(dir)
		if _, err := git(dir, home, "", "init", "-q"); err != nil {
			t.Fatal(err)
		}
		gitTree(t, dir, map[string]string{".git/info/exclude": lines.Draw(t, "exclude")})
		gitTree(t, home, map[string]string{".config/git/ignore": lines.Draw(t, "global")})

		want, err := git(dir, home, "", "ls-files", "--others", "--exclude-standard", "-z")
		if err != nil {
			t.Fatal(err)
		}
		left := maxNames
		for _, root := range []string{dir, filepath.Join(dir, inner)} {
			tr := &tree{ctx: t.Context(), hidden: true, git: true, left: &left}
			var got []string
			if err := tr.walk(root, func(e entry) error { got = append(got, e.path); return nil }); err != nil {
				t.Fatal(err)
			}
			var expected []string
			for name := range bytes.SplitSeq(want, []byte{0}) {
				if path := filepath.Join(dir, string(name)); len(name) > 0 && strings.HasPrefix(path, root+"/") {
					expected = append(expected, path)
				}
			}
			slices.Sort(got)
			slices.Sort(expected)
			if root != dir && len(expected) == 0 {
				continue // the directory itself is ignored: who names it sees what is in it
			}
			if !slices.Equal(got, expected) {
				t.Fatalf("in %s\nwalked %q\ngit    %q\nfiles %q", root, got, expected, files)
			}
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add([]byte("*.o\n!a.o\n/x/\n\\#a \\ \n"), "a/b.o")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		g := &ignoring{rules: parseIgnore(text), base: "."}
		g.ignored(path, true)
		for _, r := range g.rules {
			if r.pattern == "" || r.plain > len(r.pattern) {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}
