package settings

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var server = Object{{"command", "/usr/bin/it"}, {"args", List{"mcp", "--x"}}, {"n", 3}, {"on", true}}

// roundTrip puts a member and two elements in and takes them out again, last first.
func roundTrip(t interface{ Fatalf(string, ...any) }, before []byte) bool {
	text := before
	for _, put := range []func(*JSON) ([]byte, error){
		func(d *JSON) ([]byte, error) { return d.Add([]string{"servers", "ours"}, server) },
		func(d *JSON) ([]byte, error) { return d.Append([]string{"permissions", "deny"}, "Bash") },
		func(d *JSON) ([]byte, error) { return d.Append([]string{"permissions", "deny"}, "Edit") },
	} {
		d, err := ParseJSON(text)
		if err != nil {
			return false // not JSON, or not such that it could be added to
		}
		if text, err = put(d); err != nil {
			return false
		}
	}
	d, err := ParseJSON(text)
	if err != nil {
		t.Fatalf("put into %q:\n%q\n%v", before, text, err)
	}
	list := d.Tree()["permissions"].(map[string]any)["deny"].([]any)
	if n := len(list); list[n-2] != "Bash" || list[n-1] != "Edit" ||
		d.Tree()["servers"].(map[string]any)["ours"].(map[string]any)["on"] != true {
		t.Fatalf("put into %q:\n%q", before, text)
	}
	for _, cut := range []func(*JSON) []byte{
		func(d *JSON) []byte { return d.CutElement([]string{"permissions", "deny"}, len(list)-1, 0) },
		func(d *JSON) []byte { return d.CutElement([]string{"permissions", "deny"}, len(list)-2, 0) },
		func(d *JSON) []byte { return d.CutMember([]string{"servers", "ours"}, 0) },
	} {
		d, err := ParseJSON(text)
		if err != nil {
			t.Fatalf("between %q and\n%q\n%v", before, text, err)
		}
		text = cut(d)
	}
	if before != nil && !bytes.Equal(text, before) {
		t.Fatalf("before:\n%q\nafter:\n%q", before, text)
	}
	return true
}

func gap(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\r\n\t", "/* c */", " // x [\n", " /* , */ /* } */"}).Draw(t, "gap")
}

func drawList(t *rapid.T, open, end string, items []string) string {
	text := open + gap(t)
	for i, item := range items {
		if i > 0 {
			text += gap(t) + "," + gap(t)
		}
		text += item
	}
	text += gap(t)
	if len(items) > 0 && rapid.Bool().Draw(t, "comma") {
		text += "," + gap(t)
	}
	return text + end
}

func draw(t *rapid.T) string {
	some := func(of ...string) []string { return of[:rapid.IntRange(0, len(of)).Draw(t, "n")] }
	named := func(name, value string) string { return `"` + name + `"` + gap(t) + ":" + gap(t) + value }
	deny := drawList(t, "[", "]", some(`"Bash"`, `"Read(./x)"`, `"Edit"`))
	permissions := drawList(t, "{", "}", some(named("deny", deny), named("allow", "[]")))
	servers := drawList(t, "{", "}", some(named("mine", "{}")))
	return rapid.SampledFrom([]string{"", BOM}).Draw(t, "mark") + gap(t) +
		drawList(t, "{", "}", rapid.Permutation(some(named("permissions", permissions), named("servers", servers), named("model",
			`"m"`))).Draw(t, "order")) + gap(t)
}

// TestPropertyRoundTrip: what is put in goes again without a trace.
func TestPropertyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t)
		if !roundTrip(t, []byte(text)) {
			t.Fatalf("refused: %q", text)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{"{}", "{ }", "{\n}", "{\"permissions\":{\"deny\":[]}}", "{\n\t\"servers\": {\n\t}, // c\n}\n",
		"{\"permissions\":{\"deny\":[\"Bash\" /*x*/ , ]}}", BOM + "{}//"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { roundTrip(t, append([]byte{}, text...)) })
}

// TestThousands: what others have is looked at and not touched.
// TestLastLineIsAComment: a comment in the last line needs no end of the line, as for the agents that
// read such files, and stays.
func TestLastLineIsAComment(t *testing.T) {
	for _, text := range []string{`{"a": 1} // the end`, "{} //", "{\n  \"a\": [1], // one\n}\n// the end", "{} /* x */ // x"} {
		if !roundTrip(t, []byte(text)) {
			t.Errorf("%q cannot be edited", text)
		}
		d, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if line := 1 + strings.Count(text[:strings.Index(text, "/")], "\n"); d.Extra() != line {
			t.Errorf("%q: the first comment is in line %d, want %d", text, d.Extra(), line)
		}
	}
	for _, text := range []string{"// only", "{ // x", `{"a": 1 //`} {
		if _, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestEditsHaveAPath: an edit without a path is an error, whether there is a file or not.
func TestEditsHaveAPath(t *testing.T) {
	for _, text := range [][]byte{nil, []byte("{}"), []byte(`{"a": []}`)} {
		d, err := ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, put := range map[string]func([]string, Value) ([]byte, error){"Add": d.Add, "Append": d.Append} {
			for _, path := range [][]string{nil, {}} {
				if out, err := put(path, "x"); err == nil || out != nil || err.Error() != "an edit without a path" {
					t.Errorf("%s to %q: %q, %v", name, text, out, err)
				}
			}
		}
	}
}

func TestThousands(t *testing.T) {
	var items []string
	for range 20000 {
		items = append(items, `"Read(./some/file)"`)
	}
	text := "{\n  \"permissions\": {\n    \"deny\": [\n      " + strings.Join(items, ",\n      ") + "\n    ]\n  }\n}\n"
	if !roundTrip(t, []byte(text)) {
		t.Fatal("refused")
	}
}

// TestRefused: where something else stands, nothing is put.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"servers": []}`:                    "servers: want an object {...}",
		`{"servers": {"ours": 1}}`:           "servers.ours: is there already",
		`{"servers": {}, "servers": {}}`:     "a second time",
		`{"servers": {}, "serv\u0065rs": 1}`: "a second time",
	} {
		d, err := ParseJSON([]byte(text))
		if err == nil {
			_, err = d.Add([]string{"servers", "ours"}, server)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestKnown: a container that another program has written anew in its own manner
// stays where it is known to have been there.
func TestKnown(t *testing.T) {
	text := "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\"\n    ]\n  }\n}"
	path := []string{"permissions", "deny"}
	for known, want := range []string{"{\n}", "{\n  \"permissions\": {\n  }\n}", "{\n  \"permissions\": {\n    \"deny\": [\n    ]\n  }\n}"} {
		d, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.CutElement(path, 0, known)); got != want {
			t.Errorf("%d: %q, want %q", known, got, want)
		}
		if d, err = ParseJSON([]byte(want)); err != nil || d.Known(path) != known {
			t.Errorf("%q: %d %v", want, d.Known(path), err)
		}
	}
}

// TestTOML: a block at the end, and out again.
func TestTOML(t *testing.T) {
	for _, before := range []string{"", "a = 1", "a = 1\r\n", "# c\n\n\n", BOM + "[t]\nx = 1\n", "[servers.mine]\ncommand = 'x'\n"} {
		d, err := ParseTOML([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		text := d.Append("[servers.ours]\ncommand = \"x\"\nargs = [\n  \"y\",\n]\n")
		if d, err = ParseTOML(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s := d.Sections()
		if got := string(d.Cut(false, s[len(s)-1])); got != before {
			t.Errorf("before %q, after %q, between %q", before, got, text)
		}
	}
}
