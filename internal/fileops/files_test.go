//go:build unix

package fileops

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// do carries a request out and wants an answer.
func do[A any](t *testing.T, req Request) *A {
	t.Helper()
	answer, err := Do(t.Context(), "", req)
	if err != nil {
		t.Fatalf("%s: %v", OpOf(req), err)
	}
	return answer.(*A)
}

// refused wants an error with a code.
func refused(t *testing.T, req Request, code string) *Error {
	t.Helper()
	start := time.Now()
	_, err := Do(t.Context(), "", req)
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Operation != OpOf(req) || e.Message == "" {
		t.Fatalf("%s %+v: want %s, got %v", OpOf(req), req, code, err)
	}
	if time.Since(start) > 3*time.Second {
		t.Errorf("%s: it took %v", OpOf(req), time.Since(start))
	}
	return e
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s has %q, want %q: %v", name, got, want, err)
	}
}

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "f", "1\n2\n3\n4\n5")
	put(t, "empty", "")
	put(t, "latin", "caf\xe9\n")
	put(t, "picture", "\x89PNG\r\n\x1a\n\x00\x00")
	put(t, "binary", "a\x00b")
	for _, tt := range []struct {
		req  ReadFile
		want FileContent
	}{
		{ReadFile{Path: "f"}, FileContent{Content: "1\n2\n3\n4\n5", First: 1}},
		{ReadFile{Path: "f", Offset: 2, Limit: 2}, FileContent{Content: "2\n3\n", First: 2, Truncated: true, NextOffset: 4, NextByteOffset: 6}},
		{ReadFile{Path: "f", Offset: 4, Limit: 2}, FileContent{Content: "4\n5", First: 4}},
		{ReadFile{Path: "f", MaxBytes: 5}, FileContent{Content: "1\n2\n", First: 1, Truncated: true, NextOffset: 3, NextByteOffset: 4}},
		{ReadFile{Path: "f", ByteOffset: 3}, FileContent{Content: "\n3\n4\n5"}},
		{ReadFile{Path: "f", ByteOffset: 3, MaxBytes: 3}, FileContent{Content: "\n3\n", Truncated: true, NextByteOffset: 6}},
	} {
		got := do[FileContent](t, &tt.req)
		tt.want.Encoding, tt.want.Kind, tt.want.Size, tt.want.Lines, tt.want.Mode, tt.want.SHA256 = UTF8, "text", 9, 5, "0644", got.SHA256
		if *got != tt.want {
			t.Errorf("%+v\ngot  %+v\nwant %+v", tt.req, *got, tt.want)
		}
	}
	if got := do[FileContent](t, &ReadFile{Path: "empty"}); got.Content != "" || got.Lines != 0 || got.Truncated {
		t.Errorf("%+v", got)
	}
	for name, kind := range map[Path]string{"latin": "text", "picture": "image/png", "binary": "binary"} {
		got := do[FileContent](t, &ReadFile{Path: name})
		raw, err := base64.StdEncoding.DecodeString(got.Content)
		if got.Kind != kind || got.Encoding != Base64 || err != nil || int64(len(raw)) != got.Size {
			t.Errorf("%s: %+v: %v", name, got, err)
		}
	}
	put(t, "long", strings.Repeat("é", 100))
	if got := do[FileContent](t, &ReadFile{Path: "long", MaxBytes: 7}); got.Content != "ééé" || got.NextByteOffset != 6 || got.NextOffset != 0 {
		t.Errorf("%+v", got)
	}
	refused(t, &ReadFile{Path: "f", Offset: 7}, CodeRequest)
	refused(t, &ReadFile{Path: "f", Offset: -1}, CodeRequest)
	refused(t, &ReadFile{Path: "nothing"}, CodeNotFound)
	refused(t, &ReadFile{Path: "f/x"}, CodeNotFound)
	refused(t, &ReadFile{Path: "."}, CodeIsDir)
	refused(t, &ReadFile{Path: "/dev/null"}, CodeNotRegular)
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, &ReadFile{Path: "fifo"}, CodeNotRegular)
	refused(t, &WriteFile{Path: "fifo", Content: "x"}, CodeNotRegular)
	refused(t, &EditFile{Path: "fifo", Edit: Edit{Old: "a", New: "b"}}, CodeNotRegular)
	do[Matches](t, &Grep{Pattern: "x"})
}

// TestReadInParts: whatever the pieces, the parts are the file.
func TestReadInParts(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n\n\réx")), 0, 200, -1).Draw(rt, "text")
		put(t, "f", text)
		most, got := rapid.IntRange(4, 50).Draw(rt, "most"), ""
		for at := int64(0); ; {
			part := do[FileContent](t, &ReadFile{Path: "f", ByteOffset: at, MaxBytes: most})
			got += part.Content
			if part.Encoding != UTF8 || len(part.Content) > most || part.Truncated && part.NextByteOffset <= at {
				rt.Fatalf("%+v", part)
			}
			if at = part.NextByteOffset; !part.Truncated {
				break
			}
		}
		if got != text {
			rt.Fatalf("got %q, want %q", got, text)
		}
	})
}

func TestWrite(t *testing.T) {
	t.Chdir(t.TempDir())
	if w := do[Written](t, &WriteFile{Path: "a/b/c", Content: "x", Mode: "600"}); !w.Created || !w.Written || w.Bytes != 1 || w.SHA256 != sumOf([]byte("x")) {
		t.Errorf("%+v", w)
	}
	no := false
	refused(t, &WriteFile{Path: "no/dir", Content: "x", CreateParents: &no}, CodeNotFound)
	refused(t, &WriteFile{Path: "a/b", Content: "x"}, CodeIsDir)
	refused(t, &WriteFile{Path: "a", Content: "x", Mode: "4755"}, CodeRequest)
	refused(t, &WriteFile{Path: "a/b/c", Content: "y", Expect: Absent}, CodeChanged)
	refused(t, &WriteFile{Path: "a/b/c", Content: "y", Expect: sumOf([]byte("y"))}, CodeChanged)
	refused(t, &WriteFile{Path: "other", Content: "y", Expect: sumOf([]byte("y"))}, CodeNotFound)
	refused(t, &WriteFile{Path: "other", Content: "!", Encoding: Base64}, CodeRequest)
	if w := do[Written](t, &WriteFile{Path: "a/b/c", Content: "eQD/", Encoding: Base64, Expect: sumOf([]byte("x"))}); w.Created || !w.Written {
		t.Errorf("%+v", w)
	}
	has(t, "a/b/c", "y\x00\xff")
	if w := do[Written](t, &WriteFile{Path: "a/b/c", Content: "eQD/", Encoding: Base64}); w.Written || w.Created {
		t.Errorf("the same again: %+v", w)
	}

	// As with an editor: links, modes and times of what is written.
	if err := errors.Join(os.Chmod("a/b/c", 0o751), os.Link("a/b/c", "hard"), os.Symlink("a/b/c", "soft"), os.Symlink("target", "dangling")); err != nil {
		t.Fatal(err)
	}
	do[Written](t, &WriteFile{Path: "soft", Content: strings.Repeat("long", 100)})
	has(t, "hard", strings.Repeat("long", 100))
	do[Written](t, &WriteFile{Path: "hard", Content: "short"})
	has(t, "a/b/c", "short")
	if st, err := os.Lstat("soft"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symlink: %v %v", st, err)
	}
	if st, err := os.Stat("hard"); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("the mode: %v %v", st, err)
	}
	if w := do[Written](t, &WriteFile{Path: "hard", Content: "short", Mode: "600"}); !w.Written {
		t.Errorf("a mode alone: %+v", w)
	}
	do[Written](t, &WriteFile{Path: "dangling", Content: "x"})
	has(t, "target", "x")
	for _, e := range list(t, ".") {
		if strings.HasPrefix(e, ".") || strings.Contains(e, "tmp") {
			t.Errorf("left behind: %s", e)
		}
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestWriteThatFails: the old content is there afterwards.
func TestWriteThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "f", "old content")
	old, err := look(everywhere, "f", MaxEdited)
	if err != nil {
		t.Fatal(err)
	}
	var was, small syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	small = was
	small.Cur = 4096
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	_, err = old.become(bytes.Repeat([]byte("new"), 4096), -1)
	_, err2 := Do(t.Context(), "", &WriteFile{Path: "g", Content: strings.Repeat("new", 4096)})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if told("f", err).Code != CodeTooLarge || told("g", err2).Code != CodeTooLarge {
		t.Errorf("%v, %v", err, err2)
	}
	has(t, "f", "old content")
	if _, err := os.Stat("g"); err == nil {
		t.Error("half a new file is left")
	}
}

func TestEdit(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		before string
		edits  []Edit
		after  string
	}{
		{"a b c", []Edit{{Old: "b", New: "x"}}, "a x c"},
		{"a a a", []Edit{{Old: "a", New: "bb", All: true}}, "bb bb bb"},
		{"1\n2\n3\n", []Edit{{Old: "2\n", New: ""}, {Old: "1\n3", New: "13"}}, "13\n"},
		{"1\r\n2\r\n3\r\n", []Edit{{Old: "1\n2", New: "1\nand\n2"}}, "1\r\nand\r\n2\r\n3\r\n"},
		{"1\r\n2\r\n", []Edit{{Old: "2", New: "2\n3"}}, "1\r\n2\r\n3\r\n"},
		{"1\r\n2\n3\n", []Edit{{Old: "2\n3", New: "x\ny"}}, "1\r\nx\ny\n"},
		{"1\r\n2\n3\r\n", []Edit{{Old: "1\n2", New: "x\ny"}}, "x\r\ny\n3\r\n"},
		{"\xff\xfe a \xe9", []Edit{{Old: "a", New: "é"}}, "\xff\xfe é \xe9"},
		{"\ufeffa", []Edit{{Old: "a", New: "b"}}, "\ufeffb"},
	} {
		put(t, "f", tt.before)
		do[Edited](t, &EditFile{Path: "f", Edits: tt.edits})
		has(t, "f", tt.after)
	}
	put(t, "f", "func a() {\n\tx\n}\nfunc b() {\n\tx\n}\n")
	if e := refused(t, &EditFile{Path: "f", Edit: Edit{Old: "x", New: "y"}}, CodeAmbiguous); e.Count != 2 || !slices.Equal(e.Lines, []int{2, 5}) {
		t.Errorf("%+v", e)
	}
	if e := refused(t, &EditFile{Path: "f", Edit: Edit{Old: "func b() {\n    x\n}", New: "y"}}, CodeNoMatch); !slices.Equal(e.Lines, []int{4}) {
		t.Errorf("%+v", e)
	}
	refused(t, &EditFile{Path: "f", Edits: []Edit{{Old: "func a", New: "func c"}, {Old: "nothing", New: "y"}}}, CodeNoMatch)
	refused(t, &EditFile{Path: "f", Edit: Edit{Old: "x", New: "x"}}, CodeRequest)
	refused(t, &EditFile{Path: "f", Edit: Edit{Old: "", New: "x"}}, CodeRequest)
	refused(t, &EditFile{Path: "f"}, CodeRequest)
	refused(t, &EditFile{Path: "nothing", Edit: Edit{Old: "a", New: "x"}}, CodeNotFound)
	refused(t, &EditFile{Path: "f", Edit: Edit{Old: "func a", New: "x"}, Expect: sumOf(nil)}, CodeChanged)
	has(t, "f", "func a() {\n\tx\n}\nfunc b() {\n\tx\n}\n")
	if got := do[Edited](t, &EditFile{Path: "f", Edit: Edit{Old: "x", New: "z", All: true}}); got.Replacements != 2 || !strings.Contains(got.Diff, "-\tx\n+\tz\n") {
		t.Errorf("%+v", got)
	}
}

func TestList(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "d/b", "12")
	put(t, "d/a\xff", "")
	put(t, "d/.hidden", "")
	if err := errors.Join(os.Mkdir("d/sub", 0o700), os.Symlink("b", "d/link"), syscall.Mkfifo("d/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	got := do[Listing](t, &ListDirectory{Path: "d"})
	var all []string
	for _, e := range got.Entries {
		all = append(all, e.Name.String()+" "+e.Type)
	}
	if want := []string{`"a\xff" file`, "b file", "fifo fifo", "link symlink", "sub directory"}; !slices.Equal(all, want) || got.HiddenLeft != 1 || got.Total != 5 || got.Truncated || got.Entries[3].Target != "b" {
		t.Errorf("%q %+v", all, got)
	}
	if got := do[Listing](t, &ListDirectory{Path: "d", Hidden: true, Offset: 1, Limit: 2}); len(got.Entries) != 2 || got.Total != 6 || !got.Truncated || got.NextOffset != 3 || got.Entries[0].Name != "a\xff" {
		t.Errorf("%+v", got)
	}
	refused(t, &ListDirectory{Path: "d/b"}, CodeNotDir)
	refused(t, &ListDirectory{Path: "nothing"}, CodeNotFound)
	refused(t, &ListDirectory{Path: "d/fifo"}, CodeNotDir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, req := range []Request{&ListDirectory{}, &Glob{Pattern: "**"}, &Grep{Pattern: "x"}, &ReadFile{Path: "d/b"}, &WriteFile{Path: "n", Content: "x"}, &EditFile{Path: "d/b", Edit: Edit{Old: "1", New: "2"}}} {
		var e *Error
		if _, err := Do(ctx, "", req); !errors.As(err, &e) || e.Code != CodeCancelled {
			t.Errorf("%s: %v", OpOf(req), err)
		}
	}
}

// TestTildeIsHome: a path that begins with ~ is one of the home directory, and no file of
// that name is made in the current one.
func TestTildeIsHome(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(dir)
	for _, req := range []Request{
		&WriteFile{Path: "~/a/b", Content: "one"}, &EditFile{Path: "~/a/b", Edit: Edit{Old: "one", New: "two"}}, &ReadFile{Path: "~/a/b"},
		&ListDirectory{Path: "~"}, &Glob{Pattern: "b", Where: Where{Path: "~/a"}}, &Grep{Pattern: "two", Where: Where{Roots: []Path{"~/a"}}},
	} {
		if got, err := Do(t.Context(), "", req); err != nil {
			t.Errorf("%s: %v, %v", req.op(), got, err)
		}
	}
	if text, err := os.ReadFile(home + "/a/b"); string(text) != "two" {
		t.Errorf("%q, %v", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("made here: %v", left)
	}
	for path, want := range map[string]string{"~": "/h", "~/x": "/h/x", "~x": "~x", "./~": "./~", "a/~": "a/~", "": "", "~/../x": "/x"} {
		if got := InHome(path, "/h"); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}
