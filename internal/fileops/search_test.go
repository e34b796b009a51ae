//go:build unix

package fileops

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func globbed(t *testing.T, g Glob) []string {
	t.Helper()
	var out []string
	for _, p := range do[Found](t, &g).Paths {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out
}

func TestGlob(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, f := range []string{"a.go", "x/b.go", "x/y/c.go", "x/y/d.js", ".h/e.go", "x/.f.go", "out/g.go", "w/a\xff.go", "proj/m.go", "proj/in/m.go"} {
		put(t, f, "")
	}
	put(t, ".gitignore", "out/\n")
	if err := errors.Join(os.Symlink("..", "x/up"), os.Symlink("y/c.go", "x/l.go"), os.Symlink("nothing", "x/gone.go"), syscall.Mkfifo("x/p.go", 0o600)); err != nil {
		t.Fatal(err)
	}
	no := false
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		g    Glob
		want string
	}{
		{Glob{Pattern: "*.go"}, "a.go"},
		{Glob{Pattern: "x/**/*.{go,js}"}, "x/b.go x/gone.go x/l.go x/p.go x/y/c.go x/y/d.js"},
		{Glob{Pattern: "**/c.go"}, "x/y/c.go"},
		{Glob{Pattern: "**/[ce].go", Where: Where{Hidden: true}}, ".h/e.go x/y/c.go"},
		{Glob{Pattern: ".h/*"}, ".h/e.go"},
		{Glob{Pattern: "**/g.go"}, ""},
		{Glob{Pattern: "**/g.go", Where: Where{Gitignore: &no}}, "out/g.go"},
		{Glob{Pattern: "w/*"}, `"w/a\xff.go"`},
		{Glob{Pattern: "*.go", Where: Where{Path: "x/y"}}, "x/y/c.go"},
		{Glob{Pattern: "*.go", Where: Where{Roots: []Path{"proj", "x/y", "missing"}}}, "proj/m.go x/y/c.go"},
		{Glob{Pattern: "*.go", Where: Where{Path: "in", Roots: []Path{"proj", "x"}}}, "proj/in/m.go"},
		{Glob{Pattern: Path(cwd + "/proj/*.go")}, cwd + "/proj/m.go"},
	} {
		if got := strings.Join(globbed(t, tt.g), " "); got != tt.want {
			t.Errorf("%+v\ngot  %s\nwant %s", tt.g, got, tt.want)
		}
	}
	for _, p := range []Path{"../*", "x/../../*", "{..,x}/*", `\.\./*`, "[", "{a", "", Path("{a," + strings.Repeat("{a,", 20)), "/etc/*", `x/{.,}./*`} {
		e := refusedOrEmpty(t, &Glob{Pattern: p})
		if e != nil && e.Code != CodePattern {
			t.Errorf("%q: %v", p, e)
		}
	}
	refused(t, &Glob{Pattern: "*", Where: Where{Path: "nothing"}}, CodeNotFound)
	refused(t, &Glob{Pattern: "*", Where: Where{Path: "a.go"}}, CodeNotDir)

	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes("x/b.go", old, old); err != nil {
		t.Fatal(err)
	}
	put(t, "proj/new.go", "")
	if err := os.Chtimes("proj/new.go", old, old.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	all := do[Found](t, &Glob{Pattern: "**/*.go", Limit: 1})
	last := do[Found](t, &Glob{Pattern: "**/*.go", Offset: all.Total - 1})
	if len(all.Paths) != 1 || all.Paths[0] != "proj/new.go" || !all.Truncated || all.NextOffset != 1 || last.Truncated || last.Paths[0] != "x/b.go" {
		t.Errorf("%+v %+v", all, last)
	}
}

// refusedOrEmpty wants nothing to be found beyond the root.
func refusedOrEmpty(t *testing.T, g *Glob) *Error {
	t.Helper()
	answer, err := Do(t.Context(), "", g)
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	for _, p := range answer.(*Found).Paths {
		if rel, err := filepath.Rel(".", string(p)); err != nil || strings.HasPrefix(rel, "..") {
			t.Errorf("%q leads to %q", g.Pattern, p)
		}
	}
	return nil
}

// lined shows an answer as grep(1) does.
func lined(m *Matches) string {
	var b strings.Builder
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s", f.Path)
		for _, l := range f.Lines {
			fmt.Fprintf(&b, " %d%s%s", l.Number, map[bool]string{true: ":", false: "-"}[l.Match], l.Text)
		}
		b.WriteString(";")
	}
	return b.String()
}

func TestGrep(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\ntwo")
	put(t, "b/c.go", "Two\r\nthree\r\n")
	put(t, "b/bin", "two\x00")
	put(t, "b/latin", "two caf\xe9\n")
	put(t, "b/ignored", "two\n")
	put(t, "b/.gitignore", "ignored\n")
	put(t, ".hidden", "two\n")
	for _, tt := range []struct {
		g    Grep
		want string
	}{
		{Grep{Pattern: "two"}, "a.txt;b/latin;"},
		{Grep{Pattern: "two$", CaseInsensitive: true, OutputMode: ModeContent}, "a.txt 2:two 7:two;b/c.go 1:Two;"},
		{Grep{Pattern: "f", OutputMode: ModeContent, Context: 1}, "a.txt 3-three 4:four 5:five 6-six;b/latin 1:two caf\uFFFD;"},
		{Grep{Pattern: "^t", OutputMode: ModeContent, Before: 1, Include: []Path{"*.txt"}}, "a.txt 1-one 2:two 3:three 6-six 7:two;"},
		{Grep{Pattern: "two", OutputMode: ModeContent, After: 2, Exclude: []Path{"b"}}, "a.txt 2:two 3-three 4-four 7:two;"},
		{Grep{Pattern: "o.*h", Multiline: true, OutputMode: ModeContent, Include: []Path{"a.*"}}, "a.txt 1:one 2:two 3:three;"},
		{Grep{Pattern: "four\nfive\n", Multiline: true, OutputMode: ModeContent, Context: 1}, "a.txt 3-three 4:four 5:five 6-six;"},
		{Grep{Pattern: "four\nfive"}, ""},
		{Grep{Pattern: "two", OutputMode: ModeContent, Limit: 1}, "a.txt 2:two;"},
		{Grep{Pattern: "two", Where: Where{Path: "a.txt"}}, "a.txt;"},
		{Grep{Pattern: "two", Where: Where{Roots: []Path{"b", "a.txt", "b"}}}, "b/latin;a.txt;"},
		{Grep{Pattern: "two", Where: Where{Hidden: true, Path: "."}, Include: []Path{"**/.hid*"}}, ".hidden;"},
		{Grep{Pattern: "two", Include: []Path{"b/*"}}, "b/latin;"},
	} {
		got := do[Matches](t, &tt.g)
		if lined(got) != tt.want {
			t.Errorf("%+v\ngot  %s\nwant %s", tt.g, lined(got), tt.want)
		}
		if got.Truncated != (tt.g.Limit == 1) {
			t.Errorf("%+v: truncated %v", tt.g, got.Truncated)
		}
	}
	if got := do[Matches](t, &Grep{Pattern: "t", OutputMode: ModeCount}); got.Matches != 5 || len(got.Files) != 3 || got.Files[0].Count != 3 {
		t.Errorf("%+v", got)
	}
	refused(t, &Grep{Pattern: "("}, CodePattern)
	refused(t, &Grep{Pattern: "(?=x)"}, CodePattern)
	refused(t, &Grep{Pattern: "x", Context: 51}, CodeRequest)
	refused(t, &Grep{Pattern: "x", Where: Where{Path: "nothing"}}, CodeNotFound)
}

// TestGrepLarge: windows and long lines change nothing but what is shown of a line.
func TestGrepLarge(t *testing.T) {
	t.Chdir(t.TempDir())
	line := strings.Repeat("x", 99) + "\n"
	lines := window/100 + 1000
	text := []byte(strings.Repeat(line, lines))
	for _, n := range []int{0, window/100 - 1, window / 100, window/100 + 1, lines - 1} {
		copy(text[n*100:], "needle")
	}
	put(t, "f", string(text))
	got := do[Matches](t, &Grep{Pattern: "needle", OutputMode: ModeContent, Context: 2})
	if got.Matches != 5 || len(got.Files) != 1 || len(got.Files[0].Lines) != 3+7+3 {
		t.Fatalf("%d matches, %d lines", got.Matches, len(got.Files[0].Lines))
	}
	for i, l := range got.Files[0].Lines {
		if want := strings.HasPrefix(string(text[(l.Number-1)*100:]), "needle"); l.Match != want || i > 0 && l.Number <= got.Files[0].Lines[i-1].Number {
			t.Errorf("line %d: %v", l.Number, l.Match)
		}
	}
	put(t, "f", "first\n"+strings.Repeat("y", 2*window+500)+"needle"+strings.Repeat("é", 1000)+"\nneedle\n")
	got = do[Matches](t, &Grep{Pattern: "[n]eedle", OutputMode: ModeContent})
	if got.Matches != 2 || got.Files[0].Lines[0].Number != 2 || !got.Files[0].Lines[0].Cut || !strings.Contains(got.Files[0].Lines[0].Text, "needle") || got.Files[0].Lines[1].Number != 3 {
		t.Errorf("%+v", got)
	}
}

// TestDeepTree: depth costs no stack, and a loop ends.
func TestDeepTree(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := "."
	for range 900 {
		dir += "/d"
	}
	put(t, dir+"/leaf", "needle\n")
	if err := os.Symlink(".", dir+"/loop"); err != nil {
		t.Fatal(err)
	}
	if got := do[Matches](t, &Grep{Pattern: "needle"}); len(got.Files) != 1 {
		t.Errorf("%+v", got)
	}
	if got := do[Found](t, &Glob{Pattern: "**/leaf"}); got.Total != 1 {
		t.Errorf("%+v", got)
	}
}

// TestWiderIsWider: wherever an expression matches, that for ripgrep does.
func TestWiderIsWider(t *testing.T) {
	if _, err := os.Stat(ripgrep); err != nil {
		t.Skip("rg is not installed here; make test installs it")
	}
	t.Chdir(t.TempDir())
	atom := rapid.SampledFrom([]string{"a", "k", "S", "é", ".", `\d`, `\w`, `\W`, `\s`, `\S`, "[^a]", "[a-cé]", "[^é]", `\b`, `\B`, "^", "$", "(?i:ks)", "(?i:É)", "(a|b)", "(?:ab|é)", `\.`, `\x{ff}`, `\pL`, "[[:alpha:]]", "\u2028", "[^\n]"})
	after := rapid.SampledFrom([]string{"", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?", "|"})
	text := rapid.SampledFrom([]string{"a", "b", "k", "K", "s", "ſ", "\u212a", "S", "é", "É", "\xff", "\xe9", " ", "\t", "1", ".", "\r", "\x01", "\u2028", "\n"})
	tried, matching := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(rt, "atoms") {
			b.WriteString(atom.Draw(rt, "atom") + after.Draw(rt, "after"))
		}
		re, err := regexp.Compile(b.String())
		if err != nil || wider(re) == "" {
			return
		}
		m := &matcher{re: re, wider: wider(re)}
		var files, want []string
		for i := range worthFiles {
			content := strings.Join(rapid.SliceOfN(text, 0, 6).Draw(rt, "text"), "")
			files = append(files, fmt.Sprint(i))
			put(t, files[i], content)
			if r, _ := m.file(t.Context(), files[i], nil); r.count > 0 {
				want = append(want, files[i])
			}
		}
		tried, matching = tried+len(files), matching+len(want)
		got := m.candidates(t.Context(), files)
		for _, f := range want {
			if !slices.Contains(got, f) {
				content, _ := os.ReadFile(f)
				rt.Fatalf("%q as %q does not find %q", b.String(), wider(re), content)
			}
		}
	})
	if matching == 0 || matching == tried {
		t.Errorf("%d of %d match: this shows nothing", matching, tried)
	}
}

// TestRipgrepChangesNothing: the answer is the same with it and without, on a tree with
// all that is odd.
func TestRipgrepChangesNothing(t *testing.T) {
	if _, err := os.Stat(ripgrep); err != nil {
		t.Skip("rg is not installed here; make test installs it")
	}
	t.Chdir(t.TempDir())
	files := map[string]string{
		".gitignore": "*.log\n!keep.log\n/build/\n", "sub/.gitignore": "!x.log\nsecret*\n", "sub/x.log": "needle\n", "y.log": "needle\n", "keep.log": "needle\n",
		"build/a": "needle\n", "sub/secret1": "needle\n", "excluded": "needle\n", "bin": "needle\x00", "latin": "caf\xe9 needle", "name\xff": "Needle\n", "-": "needle\n", "--help": "needle\n", "new\nline": "needle\n",
		"long": strings.Repeat("z", 100000) + "needle" + strings.Repeat("z", 1000) + "\n", "utf16": "\xff\xfen\x00e\x00e\x00", "crlf": "needle\r\n", "empty": "",
	}
	for i := range 3 * worthFiles {
		files[fmt.Sprintf("many/%03d", i)] = fmt.Sprintf("text %d needl%c\n", i, 'a'+i%7)
	}
	gitTree(t, ".", files)
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, ".git/info/exclude", "excluded\n")
	if err := errors.Join(os.Symlink("keep.log", "link"), os.Symlink("sub", "dirlink"), syscall.Mkfifo("fifo", 0o600), os.Chmod("many/001", 0)); err != nil {
		t.Fatal(err)
	}
	no := false
	real := ripgrep
	defer func() { ripgrep = real }()
	for _, p := range []string{"needle", "(?i)NEEDLE", "need[le]+", "^needle$", `\bneedl\w`, "é", "[^ -~]", "z{100}n", "e|x", `(?i:K)`, "nothing at all", "n.*e"} {
		for _, mode := range []string{ModeFiles, ModeContent, ModeCount} {
			for _, w := range []Where{{}, {Hidden: true}, {Gitignore: &no}, {Path: "many"}, {Roots: []Path{"sub", "many", "."}}} {
				req := &Grep{Pattern: p, OutputMode: mode, Where: w, Context: len(mode) % 3, Limit: 100}
				ripgrep = real
				with := do[Matches](t, req)
				ripgrep = "/nothing/rg"
				if without := do[Matches](t, req); !reflect.DeepEqual(with, without) {
					t.Errorf("%+v\nwith    %s\nwithout %s", req, lined(with), lined(without))
				}
			}
		}
	}
	ripgrep = "/nothing/rg"
	got := lined(do[Matches](t, &Grep{Pattern: "need", Exclude: []Path{"many"}}))
	if want := "-;--help;crlf;keep.log;latin;long;\"new\\nline\";sub/x.log;"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
