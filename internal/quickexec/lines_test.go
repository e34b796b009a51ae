package quickexec

import (
	"bytes"
	"encoding/json"
	"testing"

	"carrel/internal/api"
	"carrel/internal/strictjson"

	"pgregory.net/rapid"
)

// TestRequestLine: a request is the one that package api has.
func TestRequestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\xff\"\\", "\x00\x1f\n\t", "<&>\u2028", "\ufffd", "a\xc3"}))
		ceiling := rapid.SampledFrom([]string{"", "ab12"}).Draw(t, "ceiling")
		c := Command{
			Argv: rapid.SliceOfN(word, 1, 4).Draw(t, "argv"), Dir: word.Draw(t, "dir"),
			Env: rapid.SliceOfN(word, 0, 3).Draw(t, "env"),
		}
		whole, err := json.Marshal(api.Request{Op: api.OpExec, Ceiling: ceiling, Command: &api.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env}})
		if err != nil {
			t.Fatal(err)
		}
		same(t, execLine(ceiling, c), whole, &api.Request{}, &api.Request{})
		if whole, err = json.Marshal(api.Request{Op: api.OpStatus, Ceiling: ceiling}); err != nil {
			t.Fatal(err)
		}
		same(t, statusLine(ceiling), whole, &api.Request{}, &api.Request{})
	})
	same(t, signalLine(15), []byte(`{"signal":15}`), &api.Input{}, &api.Input{})
}

func same(t rapid.TB, line, whole []byte, got, want any) {
	if line[len(line)-1] != '\n' {
		t.Errorf("%q does not end", line)
	}
	err := strictjson.Decode(line[:len(line)-1], got)
	if err == nil {
		err = json.Unmarshal(whole, want)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if err != nil || string(a) != string(b) {
		t.Errorf("%q means %s, want %s (%v)", line, a, b, err)
	}
}

// TestFields compares with package encoding/json.
func TestFields(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.Int32(), func(n int32) any { return n }),
		rapid.Map(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `\`, `}{`, `a":1,"b`})), func(s string) any { return s }),
	)
	names := rapid.SampledFrom([]string{"a", "b", "ok", "app", "exit"})
	inner := rapid.MapOf(names, rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 0, 3), func(l []any) any { return l })))
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"app": inner.Draw(t, "app")}
		for name, v := range inner.Draw(t, "members") {
			if name != "app" {
				object[name] = v
			}
		}
		write := json.Marshal
		if rapid.Bool().Draw(t, "indented") {
			write = func(v any) ([]byte, error) { return json.MarshalIndent(v, " ", "\t") }
		}
		text, err := write(object)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "ok", "app", "exit", "none"} {
			if got := field(text, name); string(got) != string(members[name]) {
				t.Fatalf("%s of %s: %q", name, text, got)
			}
		}
		var app map[string]json.RawMessage
		if err := json.Unmarshal(members["app"], &app); err != nil {
			t.Fatal(err)
		}
		if got := fields(text, "app", "exit"); string(got) != string(app["exit"]) {
			t.Fatalf("app.exit of %s: %q", text, got)
		}
		cut := text[:rapid.IntRange(0, len(text)-1).Draw(t, "cut")]
		for _, name := range []string{"a", "app", "none"} { // of a line without its end
			if got := field(cut, name); !bytes.HasPrefix(members[name], got) {
				t.Fatalf("%s of %s: %q", name, cut, got)
			}
		}
	})
}
