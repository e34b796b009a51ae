package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestProblemsHaveTheirPlace: an error names line and column and never what stands there,
// which may be a secret.
func TestProblemsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": s3cret\n}":                     "2:8: ",
		"[]":                                        "1:1: want an object",
		BOM + "{\"a\": 1,\n\n \"b\" 2}":             "3:6: ",
		strings.Repeat("[", maxDepth+1):             "1:501: nested more than 500 deep",
		`{"a": "` + strings.Repeat("[", 2*maxDepth): "1:",
		`{"a": 1} {}`:                               "1:10: ",
		"":                                          "1:1: ",
		"{\"a\": \"s3cret\x01\"}":                   "1:7: ",
		"{/* " + strings.Repeat("{", 2*maxDepth) + "*/": "1:",
	} {
		_, err := ParseJSON([]byte(text))
		var p *Problem
		if !errors.As(err, &p) || !strings.HasPrefix(p.Error(), ":"+want) || strings.Contains(p.Error(), "s3cret") {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{"a = 1\nb = ": "2:", "[t]\na = 1\na = 2\n": "3:", "a = 'x\n": "1:", "[[a]]\n[a]\n": "2:"} {
		_, err := ParseTOML([]byte(text))
		var p *Problem
		if !errors.As(err, &p) || !strings.HasPrefix(p.Error(), ":"+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestExtra: the first thing that plain JSON does not have is found by its line.
func TestExtra(t *testing.T) {
	for text, want := range map[string]int{
		"{\n\"a\": [1, 2]\n}": 0, "{\n\"a\": [1, 2,]\n}": 2, "{\n\n// c\n}": 3, "{} // c\n": 1, `{"a": "// no comment,"}`: 0, "/* \n\n */ {}": 1,
	} {
		d, err := ParseJSON([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := d.Extra(); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}

// TestManner: what is put in is written as the file is: its indent, its ends of lines, or on
// its one line.
func TestManner(t *testing.T) {
	value := Object{{"a", List{"x", 1}}, {"b", true}}
	for text, want := range map[string]string{
		"{}": "{\"n\": {\n  \"a\": [\n    \"x\",\n    1\n  ],\n  \"b\": true\n}}",
		"{\r\n\t\"m\": 1\r\n}\r\n": "{\r\n\t\"m\": 1,\r\n\t\"n\": {\r\n\t\t\"a\": [\r\n\t\t\t\"x\",\r\n\t\t\t1\r\n\t\t],\r\n" +
			"\t\t\"b\": true\r\n\t}\r\n}\r\n",
		`{"m": 1}`: `{"m": 1,"n": {"a": ["x", 1], "b": true}}`,
		"{\n    \"m\": 1, // c\n}": "{\n    \"m\": 1, // c\n    \"n\": {\n" +
			"        \"a\": [\n            \"x\",\n            1\n        ],\n        \"b\": true\n    },\n}",
	} {
		d, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Add([]string{"n"}, value)
		if err != nil || string(got) != want {
			t.Errorf("%q becomes\n%q, %v\nwant\n%q", text, got, err, want)
		}
	}
	d, err := ParseJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	const made = "{\n  \"a\": {\n    \"b\": [\n      \"<&>\"\n    ]\n  }\n}\n"
	if got, err := d.Append([]string{"a", "b"}, "<&>"); err != nil || string(got) != made {
		t.Errorf("%q, %v", got, err)
	}
}

// drawTOML writes tables with comments and blank lines between them, and gives their names.
func drawTOML(t *rapid.T) (text string, names []string) {
	nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
	gap := rapid.SampledFrom([]string{"", "# c\n", "\n", "\n\n# c\n\n"})
	text = rapid.SampledFrom([]string{"", BOM}).Draw(t, "mark") + gap.Draw(t, "gap")
	text += rapid.SampledFrom([]string{"", "top = 1\n"}).Draw(t, "top")
	keys := rapid.SampledFrom([]string{"", "a = 1\n", "a = [\n 1,\n]\nb = '''\n[no.table]\n'''\n"})
	for i := range rapid.IntRange(0, 4).Draw(t, "tables") {
		name := fmt.Sprintf("t%d.x", i)
		names = append(names, name)
		text += gap.Draw(t, "gap") + "[" + name + "] # its own\n" + keys.Draw(t, "keys")
	}
	text += gap.Draw(t, "gap")
	if rapid.Bool().Draw(t, "no end") {
		text = strings.TrimSuffix(text, "\n")
	}
	return strings.ReplaceAll(text, "\n", nl), names
}

// TestTablesGoAndComeBack: a block that is put in and cut out leaves the text as it was, and
// a table that is cut out takes its own lines along and no comment of another.
func TestTablesGoAndComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, names := drawTOML(t)
		d, err := ParseTOML([]byte(before))
		if err != nil {
			t.Fatalf("%q: %v", before, err)
		}
		var found []string
		for _, s := range d.Sections() {
			found = append(found, strings.Join(s.Key, "."))
		}
		if !slices.Equal(found, names) || d.Sets("top") != strings.Contains(before, "top") || d.Sets("no.table") {
			t.Fatalf("%q has %q, want %q", before, found, names)
		}
		const block = "[ours]\nx = 1\n"
		if !d.Takes(block) {
			t.Fatalf("%q takes no table", before)
		}
		with, err := ParseTOML(d.Append(block))
		if err != nil {
			t.Fatalf("%q: %v", d.Append(block), err)
		}
		last := with.Sections()[len(with.Sections())-1]
		if got := with.Cut(false, last); string(got) != before {
			t.Errorf("before %q, after %q", before, got)
		}
		for i, s := range d.Sections() {
			rest, err := ParseTOML(d.Cut(false, s))
			if err != nil || rest.Sets(names[i]) || strings.Count(string(rest.text), "# c") != strings.Count(before, "# c") ||
				len(rest.Sections()) != len(names)-1 {
				t.Errorf("%q without %s is %q, %v", before, names[i], rest.text, err)
			}
		}
	})
}
