//go:build unix

package fileops

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `x`, `[]`, `null`, `"path"`, `1`, `{}`, `{"path":1}`, `{"path":"a","path":"b"}`, `{"Path":"a"}`, `{"path":"a","more":1}`, `{"path":"a"}{}`, `{"path":"a"} x`,
		"{\"path\":\"\xff\"}", `{"path":"\ud800"}`, `{"path":"\udc00\ud800"}`, `{"path":"a\u0000"}`, `{"path":"` + strings.Repeat("x", 5000) + `"}`, `{"path":"a","offset":-1}`,
		`{"path":"a","offset":1.5}`, `{"path":"a","max_bytes":99999999}`, `{"path":"a","byte_offset":1,"limit":2}`, `{"path":""}`,
	} {
		_, err := Decode(OpRead, []byte(text))
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeRequest || e.Operation != OpRead {
			t.Errorf("%.100q: %v", text, err)
		}
	}
	for op, text := range map[string]string{
		OpEdit: `{"path":"a","edits":[{"old_string":"a","old_string":"b","new_string":"c"}]}`, OpGlob: `{"pattern":"*","limit":100000}`, OpGrep: `{"pattern":"x","output_mode":"all"}`,
		OpWrite: `{"path":"a","content":"x","expect":"abc"}`, OpList: `{"offset":-1}`, "remove": `{}`,
	} {
		if _, err := Decode(op, []byte(text)); err == nil {
			t.Errorf("%s %s is taken", op, text)
		}
	}
	if _, err := Decode(OpRead, []byte(`{"path":"\ud83d\ude00 \\ud800 \u00e9"}`)); err != nil {
		t.Errorf("a whole pair, and what only looks like half of one: %v", err)
	}
}

// TestPaths: any bytes go through JSON and come back.
func TestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Path(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }), rapid.Map(rapid.String(), func(s string) string { return `"` + s + `"` })).Draw(t, "path"))
		text, err := json.Marshal(p)
		var back Path
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != p || !utf8.Valid(text) {
			t.Fatalf("%q as %s is %q: %v", string(p), text, string(back), err)
		}
	})
	for p, want := range map[Path]string{"a b": "a b", "é": "é", "\xff": `"\xff"`, "a\nb": `"a\nb"`, `"a"`: `"\"a\""`, `"a`: `"a`} {
		if p.String() != want {
			t.Errorf("%q is told as %s, want %s", string(p), p, want)
		}
	}
}

func TestHelper(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "f", "text <&>\n")
	var out, errs bytes.Buffer
	if code := Main([]string{"x", OpRead}, strings.NewReader(`{"path":"f"}`), &out, &errs); code != 0 || errs.Len() > 0 || strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "<&>") {
		t.Errorf("%d %s %s", code, &out, &errs)
	}
	answer, err := DecodeAnswer(&ReadFile{}, out.Bytes())
	if c, ok := answer.(*FileContent); err != nil || !ok || c.Content != "text <&>\n" {
		t.Errorf("%+v: %v", answer, err)
	}
	out.Reset()
	if code := Main([]string{"x", OpRead}, strings.NewReader(`{"path":"nothing"}`), &out, &errs); code != 0 {
		t.Errorf("a told error is status %d", code)
	}
	var e *Error
	if _, err := DecodeAnswer(&ReadFile{}, out.Bytes()); !errors.As(err, &e) || e.Code != CodeNotFound || e.Subject != "nothing" {
		t.Errorf("%v", err)
	}
	if code := Main([]string{"x"}, nil, &out, &errs); code == 0 || errs.Len() == 0 {
		t.Errorf("without an operation: %d", code)
	}
	for _, bad := range []string{"", "x", `{"answer":{"more":1}}`, `{"answer":{}}{}`, `[]`} {
		if _, err := DecodeAnswer(&ReadFile{}, []byte(bad)); err == nil {
			t.Errorf("%q is taken for an answer", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(OpRead, []byte(`{"path":"a","offset":1,"limit":2}`))
	f.Add(OpWrite, []byte(`{"path":"a","content":"eA==","encoding":"base64","mode":"644","create_parents":false,"expect":"absent"}`))
	f.Add(OpEdit, []byte(`{"path":"a","edits":[{"old_string":"a","new_string":"b","replace_all":true}]}`))
	f.Add(OpList, []byte(`{"hidden":true}`))
	f.Add(OpGlob, []byte(`{"pattern":"**/*.{a,b}","roots":["x","\"\\xff\""],"gitignore":false}`))
	f.Add(OpGrep, []byte(`{"pattern":"(?i)a+","include":["*.go"],"output_mode":"content","context":2,"multiline":true}`))
	f.Fuzz(func(t *testing.T, op string, data []byte) {
		req, err := Decode(op, data)
		if err != nil {
			return
		}
		text, err := Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(op, text)
		if err != nil || !reflect.DeepEqual(again, req) {
			t.Fatalf("%s: %+v as %s is %+v: %v", op, req, text, again, err)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\r\n"), "a\nb", "c\n", true)
	f.Add([]byte("a a"), "a", "", false)
	f.Fuzz(func(t *testing.T, text []byte, from, to string, all bool) {
		if from == "" || len(text) > 1<<16 || len(to) > 1<<10 {
			return
		}
		before := bytes.Clone(text)
		after, n, err := Edit{Old: from, New: to, All: all}.apply(text)
		if !bytes.Equal(before, text) || err == nil && (n == 0 || n > 1 && !all) || err != nil && after != nil {
			t.Fatalf("%q: %q to %q gives %q, %d, %v", before, from, to, after, n, err)
		}
	})
}
