package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "1:1: "},
		{"half", `{"a": `, "this is no JSON"},
		{"text after the end", "{}\n{}", "2:1: "},
		{"a key twice", "{\n \"a\": 1,\n \"a\": 2}", `3:2: the key "a" stands twice`},
		{"a key twice, one escaped", `{"a": 1, "\u0061": 2}`, "stands twice"},
		{"bytes that are not UTF-8", "{\"a\": \"\xff\"}", "1:8: these bytes are not UTF-8"},
		{"half a surrogate pair", `{"a": "\ud800"}`, "surrogate"},
		{"half a surrogate pair as a key", `{"\udc00": 1}`, "surrogate"},
		{"deep", strings.Repeat("[", 33) + strings.Repeat("]", 33), "nested more than 32 deep"},
		{"very deep", strings.Repeat("[", 500_000), "this is no JSON"},
		{"large", `"` + strings.Repeat("a", MaxSize) + `"`, "larger than"},
		{"a comment", "{} // no", "this is no JSON"},
		{"a trailing comma", "[1,]", "this is no JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", n, err, c.want)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	n, err := Parse([]byte("{\n  \"list\": [1,\n    \"x\"], \"o\": {\"b\": true, \"n\": null}\n}"))
	if err != nil {
		t.Fatal(err)
	}
	x := n.Get("list").Items[1]
	if x.Line != 3 || x.Column != 5 || x.Text != "x" || x.Kind != String {
		t.Errorf("the second item is %+v", x)
	}
	if b := n.Get("o").Get("b"); !b.True || b.Line != 3 || b.Column != 22 {
		t.Errorf("b is %+v", b)
	}
	if n, err := Parse([]byte("\"\ufffd\"")); err != nil || n.Text != "\ufffd" {
		t.Errorf("U+FFFD as itself: %+v, %v", n, err)
	}
	if n.Get("nothing") != nil || n.Get("o").Get("n").Kind != Null {
		t.Error("a name that is not there, or null, is something else")
	}
}

func TestLoose(t *testing.T) {
	for text, want := range map[string]string{
		"// c\n{\"a\": /* x */ 1, // end":    "",
		"// c\n{\"a\": /* x */ 1, // end\n}": `{"a":1}`,
		`{"a": "// no, \" /* plain */",}`:    `{"a":"// no, \" /* plain */"}`,
		`[1, 2 , /* , */ ]`:                  `[1,2]`,
		`[,]`:                                "",
		`[1,,]`:                              "",
		`{"a": 1,,}`:                         "",
		`/* never closed`:                    "",
	} {
		n, err := ParseLoose([]byte(text))
		if want == "" {
			if err == nil {
				t.Errorf("%s: taken as %+v", text, n)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := write(n); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// write gives the JSON of a tree.
func write(n *Node) string {
	switch n.Kind {
	case Bool:
		if n.True {
			return "true"
		}
		return "false"
	case Number:
		return n.Text
	case String:
		text, _ := json.Marshal(n.Text)
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	case List:
		var items []string
		for _, i := range n.Items {
			items = append(items, write(i))
		}
		return "[" + strings.Join(items, ",") + "]"
	case Object:
		var members []string
		for _, m := range n.Members {
			name, _ := json.Marshal(m.Name)
			members = append(members, string(name)+":"+write(m.Value))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return "null"
}

// standard is what the standard library reads, with numbers as they are written:
// one may be too large for any type.
func standard(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more")
	}
	return v, nil
}

// FuzzParse: what is taken is what the standard library reads, and is read the
// same way when it is written again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"version": 1, "files": [{"path": "/w", "access": "read"}]}`, `[1, -2.5e3, "a\nb", null, true, {}]`, `{"a": {"a": ["\u00e4"]}}`, "\"\xff\"", `{"a":1,"a":2}`, "[[[[", "// x\n[1,]", "[18" + strings.Repeat("0", 400) + "]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(data)
		if err != nil {
			return
		}
		plain, err := standard(data)
		if err != nil {
			t.Fatalf("taken, but not by the standard library: %v", err)
		}
		text := write(n)
		again, err := standard([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		a, _ := json.Marshal(plain)
		b, _ := json.Marshal(again)
		if string(a) != string(b) {
			t.Fatalf("%s is read as %s", a, b)
		}
		m, err := Parse([]byte(text))
		if err != nil || write(m) != text {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

// FuzzLoose: what strict JSON is, is the same when comments are taken.
func FuzzLoose(f *testing.F) {
	for _, s := range []string{`{"a": 1, /* x */}`, "// x\n[1, 2,]", `{"a": "//"}`, `[1 /* , */ ]`, `"\"/*"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		strict, err := Parse(data)
		loose, looseErr := ParseLoose(data)
		if err == nil && (looseErr != nil || write(strict) != write(loose)) {
			t.Fatalf("strict %s, loose %v", write(strict), looseErr)
		}
	})
}
