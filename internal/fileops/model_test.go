//go:build unix

package fileops

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// asked carries a request out in a property, and gives the code of its error.
func asked[A any](t *rapid.T, req Request) (*A, string) {
	answer, err := Do(t.Context(), "", req)
	if err == nil {
		return answer.(*A), ""
	}
	var e *Error
	if !errors.As(err, &e) || e.Operation != OpOf(req) || e.Message == "" {
		t.Fatalf("%+v: %v", req, err)
	}
	return nil, e.Code
}

// TestWritesAgainstAModel writes and edits a few files in any order and with any expectation:
// each holds what a model says, keeps its inode, and a refused request changes nothing.
func TestWritesAgainstAModel(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "d/b", "d/e/c"}
		for _, n := range names {
			_ = os.RemoveAll(strings.Split(n, "/")[0])
		}
		model, inodes := map[string]string{}, map[string]os.FileInfo{}
		text := rapid.StringMatching("[ab\n]{0,6}")
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			old, there := model[name]
			expect := rapid.SampledFrom([]string{"", Absent, sumOf([]byte(old)), sumOf([]byte("other"))}).Draw(t, "expect")
			wrong := expect != "" && (expect == Absent) == there || expect != "" && expect != Absent && expect != sumOf([]byte(old))
			if rapid.Bool().Draw(t, "write") {
				content := text.Draw(t, "content")
				req := &WriteFile{Path: Path(name), Content: content, Expect: expect}
				if rapid.Bool().Draw(t, "coded") {
					req.Content, req.Encoding = base64.StdEncoding.EncodeToString([]byte(content)), Base64
				}
				got, code := asked[Written](t, req)
				if (code != "") != wrong || code == "" && (got.Created == there || got.Written != (!there || old != content) ||
					got.SHA256 != sumOf([]byte(content))) {
					t.Fatalf("%+v over %q, %v: %+v, %s", req, old, there, got, code)
				}
				if code == "" {
					model[name] = content
				}
			} else {
				from := rapid.StringMatching("[ab\n]{1,2}").Draw(t, "from")
				req := &EditFile{Path: Path(name), Edit: Edit{Old: from, New: text.Draw(t, "to"), All: rapid.Bool().Draw(t, "all")}, Expect: expect}
				n := strings.Count(old, from)
				fails := wrong || !there || n == 0 || n > 1 && !req.All || from == req.New
				got, code := asked[Edited](t, req)
				if (code != "") != fails || code == "" && got.Replacements != n {
					t.Fatalf("%+v in %q, %v: %+v, %s", req, old, there, got, code)
				}
				if code == "" {
					model[name] = strings.ReplaceAll(old, from, req.New)
				}
			}
			for _, n := range names {
				got, err := os.ReadFile(n)
				st, _ := os.Stat(n)
				want, there := model[n]
				if there && (err != nil || string(got) != want || inodes[n] != nil && !os.SameFile(st, inodes[n])) || !there && err == nil {
					t.Fatalf("%s has %q, %v; want %q, %v", n, got, err, want, there)
				}
				inodes[n] = st
			}
		}
	})
}

// TestEditsAreAllOrNone: of several edits each sees what those before it made, and where one
// cannot be made none is.
func TestEditsAreAllOrNone(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching("[abc\n]{0,12}").Draw(t, "text")
		if err := os.WriteFile("f", []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		var edits []Edit
		want, fails := before, -1
		for i := range rapid.IntRange(1, 4).Draw(t, "edits") {
			e := Edit{Old: rapid.StringMatching("[abc]{1,2}").Draw(t, "old"), New: rapid.StringMatching("[xyz]{0,2}").Draw(t, "new")}
			edits = append(edits, e)
			if fails < 0 && strings.Count(want, e.Old) != 1 {
				fails = i
			}
			want = strings.Replace(want, e.Old, e.New, 1)
		}
		answer, err := Do(t.Context(), "", &EditFile{Path: "f", Edits: edits})
		got, _ := os.ReadFile("f")
		if fails >= 0 {
			at := fmt.Sprintf("edit %d of %d: ", fails+1, len(edits))
			if err == nil || !strings.Contains(err.Error(), at) || string(got) != before {
				t.Fatalf("%+v in %q: %v, %v, want %q; the file has %q", edits, before, answer, err, at, got)
			}
			return
		}
		if err != nil || string(got) != want || answer.(*Edited).Replacements != len(edits) {
			t.Fatalf("%+v in %q: %v, %v; the file has %q, want %q", edits, before, answer, err, got, want)
		}
	})
}

// TestGrepAgainstAModel holds grep to Go's regular expressions, line by line over a few files.
func TestGrepAgainstAModel(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		files := map[string][]string{}
		for _, name := range []string{"a", "b.go", "d/c.go"} {
			lines := rapid.SliceOfN(rapid.StringMatching("[abB .]{0,6}"), 0, 8).Draw(t, name)
			files[name] = lines
			text := []byte(strings.Join(append(lines, ""), "\n"))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		pattern := rapid.SampledFrom([]string{"a", "^a", "b$", "a.b", "[aB]+$", `\.`, "(a|b)b", "^$", "B"}).Draw(t, "pattern")
		g := &Grep{Pattern: pattern, OutputMode: ModeContent, CaseInsensitive: rapid.Bool().Draw(t, "case"),
			Context: rapid.IntRange(0, 2).Draw(t, "context")}
		if rapid.Bool().Draw(t, "go") {
			g.Include = []Path{"*.go"}
		}
		expression := pattern
		if g.CaseInsensitive {
			expression = "(?i)" + pattern
		}
		re := regexp.MustCompile(expression)
		var want []string
		count := 0
		for _, name := range []string{"a", "b.go", "d/c.go"} {
			if g.Include != nil && name == "a" {
				continue
			}
			shown := map[int]bool{}
			for i, l := range files[name] {
				if re.MatchString(l) {
					count++
					for j := max(i-g.Context, 0); j <= min(i+g.Context, len(files[name])-1); j++ {
						shown[j] = shown[j] || j == i
					}
				}
			}
			text := name
			for i, l := range files[name] {
				if match, some := shown[i]; some {
					text += fmt.Sprintf(" %d%s%s", i+1, map[bool]string{true: ":", false: "-"}[match], l)
				}
			}
			if len(shown) > 0 {
				want = append(want, text+";")
			}
		}
		got, code := asked[Matches](t, g)
		if code != "" || lined(got) != strings.Join(want, "") || got.Matches != count {
			t.Fatalf("%+v:\n%s %s, %d matches\nwant %q, %d", g, lined(got), code, got.Matches, want, count)
		}
	})
}

// TestListsMeet: pages of a directory and of a search give each name once, in one order, with
// the number of them all.
func TestListsMeet(t *testing.T) {
	t.Chdir(t.TempDir())
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("f%02d", i)
		want = append(want, name)
		put(t, name, name)
	}
	put(t, ".hidden", "")
	for _, limit := range []int{1, 7, 25, 100} {
		var listed, found []string
		for offset := 0; ; {
			page := do[Listing](t, &ListDirectory{Path: ".", Limit: limit, Offset: offset})
			for _, e := range page.Entries {
				listed = append(listed, string(e.Name))
			}
			if page.Total != 25 || page.HiddenLeft != 1 || len(page.Entries) > limit || page.Truncated != (page.NextOffset > 0) {
				t.Fatalf("%+v", page)
			}
			if offset = page.NextOffset; !page.Truncated {
				break
			}
		}
		for offset := 0; ; {
			page := do[Found](t, &Glob{Pattern: "f*", Limit: limit, Offset: offset})
			for _, p := range page.Paths {
				found = append(found, string(p))
			}
			if page.Total != 25 || len(page.Paths) > limit {
				t.Fatalf("%+v", page)
			}
			if offset = page.NextOffset; !page.Truncated {
				break
			}
		}
		if slices.Sort(found); !slices.Equal(listed, want) || !slices.Equal(found, want) {
			t.Errorf("in pages of %d: %q, %q", limit, listed, found)
		}
	}
	if page := do[Listing](t, &ListDirectory{Path: ".", Offset: 99}); len(page.Entries) != 0 || page.Total != 25 {
		t.Errorf("behind the end: %+v", page)
	}
}

// TestWhatKind: a file is told by how it begins, and text with a picture's beginning is text.
func TestWhatKind(t *testing.T) {
	t.Chdir(t.TempDir())
	for content, want := range map[string]string{
		"": "text", "plain": "text", "BM and more": "text", "caf\xe9": "text", "a\x00b": "binary", "%PDF-1.7": "application/pdf",
		"\x89PNG\r\n\x1a\n\x00": "image/png", "\xff\xd8\xff\x00": "image/jpeg", "GIF89a\x00": "image/gif", "PK\x03\x04\x00": "application/zip",
		"RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp", "\x7fELF\x00": "application/x-executable",
	} {
		put(t, "f", content)
		got := do[FileContent](t, &ReadFile{Path: "f"})
		if got.Kind != want || got.Size != int64(len(content)) || got.SHA256 != sumOf([]byte(content)) {
			t.Errorf("%q: %+v, want %s", content, got, want)
		}
	}
}

// TestNearMisses: an edit that finds nothing says where it almost would have, and one that
// finds too much says where that is.
func TestNearMisses(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "f", "func a() {\n\treturn 1\n}\n\nfunc b() {\n  return  2\n}\nreturn 3\nreturn 3\n")
	for old, want := range map[string]struct {
		code, says string
		lines      []int
	}{
		"func a() {\n    return 1\n}": {CodeNoMatch, "with other spaces it is at line 1", []int{1}},
		"return 2":                    {CodeNoMatch, "with other spaces it is at line 6", []int{6}},
		"func b() {\n\treturn 9":      {CodeNoMatch, "its first line is at line 5", []int{5}},
		"nothing alike":               {CodeNoMatch, "old_string is not in the file", nil},
		"return 3":                    {CodeAmbiguous, "is there 2 times, at lines 8, 9", []int{8, 9}},
	} {
		e := refused(t, &EditFile{Path: "f", Edit: Edit{Old: old, New: "x"}}, want.code)
		if !strings.Contains(e.Message, want.says) || !slices.Equal(e.Lines, want.lines) || e.Hint == "" {
			t.Errorf("%q: %+v, want %+v", old, e, want)
		}
	}
	if got := numbers([]int{1, 2}, 5); got != "1, 2, ..." {
		t.Errorf("%s", got)
	}
}
