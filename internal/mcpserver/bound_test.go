package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLooksAreTextForModels: where text or a picture is the answer, no structured form
// stands beside it, since clients give their model that instead; a refusal likewise.
func TestLooksAreTextForModels(t *testing.T) {
	shows := []string{"Bash", "read_file", "edit_file", "list_directory", "glob", "grep", "diff", "app_log", "terminal_read",
		"screenshot", "observe", "computer", "clipboard_get", "a11y_tree"}
	for _, tool := range append(Tools(), compat()...) {
		if got := outSchema(&tool) == nil; got != tool.shows || tool.Set != setCompat && got != slices.Contains(shows, tool.Name) {
			t.Errorf("%s: shows %v, no schema %v", tool.Name, tool.shows, got)
		}
		if r := tool.refusal(t.Context(), tool.badArguments("x", "there is no x")); (r.StructuredContent == nil) != tool.shows ||
			!r.IsError || tool.shows && r.Meta[metaKey] == nil {
			t.Errorf("%s: a refusal is %+v", tool.Name, r)
		}
	}
	r := (&Tool{shows: true}).result(bashOut{App: "a1", Output: "\t\"x\" <b>\n", ExitCode: 3})
	if text := r.Content[0].(*sdk.TextContent).Text; r.StructuredContent != nil || text != "\t\"x\" <b>\n\n[status 3]" {
		t.Errorf("%q, %v", text, r.StructuredContent)
	}
	if meta, _ := json.Marshal(r.Meta); !strings.Contains(string(meta), `"app_id":"a1"`) || strings.Contains(string(meta), "<b>") {
		t.Errorf("beside it: %s", meta)
	}
}

// TestAnswersFit: an answer of any size is one that clients take, and says what is missing.
func TestAnswersFit(t *testing.T) {
	var paths []anyJSON
	for i := range 10_000 {
		paths = append(paths, anyJSON{json.RawMessage(fmt.Sprintf(`"/home/me/src/desk/%05d"`, i))})
	}
	text, err := fit(undone{Steps: []uint64{1}, Restored: paths, Removed: paths[:100], Done: true})
	var got struct {
		Done     bool
		Restored []string
		Removed  []string
		Cut      map[string]int
	}
	if err != nil || json.Unmarshal(text, &got) != nil || len(text) > mostText || len(got.Restored) < 500 ||
		len(got.Removed) != 100 || got.Cut["restored"] != 10_000 || len(got.Cut) != 1 || !got.Done {
		t.Errorf("%d bytes, %d of %v, %v", len(text), len(got.Restored), got.Cut, err)
	}
	long := strings.Repeat("ü", 50_000)
	for name, value := range map[string]any{
		"a text": map[string]any{"a": long}, "a text in a list": map[string]any{"a": []any{map[string]any{"b": long}}},
		"two lists": map[string]any{"a": paths, "b": paths, "c": "d"}, "lists in a list": map[string]any{"a": []any{paths, paths}},
	} {
		if text, err := fit(value); err != nil || len(text) > mostText || !json.Valid(text) || !strings.Contains(string(text), `"cut":{"a`) {
			t.Errorf("%s: %d bytes, %v: %.200s", name, len(text), err, text)
		}
	}
	if text, err := fit(map[string]any{"a": "<b> & c"}); string(text) != `{"a":"<b> & c"}` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPagesMeet: pages end where the next begins, and no item is too large for one.
func TestPagesMeet(t *testing.T) {
	var all, seen []string
	for i := range 300 {
		all = append(all, fmt.Sprint(i)+strings.Repeat("x", i*i%1000))
	}
	all = append(all, strings.Repeat("y", 2*mostText), "end")
	pages := 0
	for p := (paged{}); ; pages++ {
		part, at := pageOf(all, p, 100)
		if seen = append(seen, part...); at.Total != len(all) || len(part) == 0 || len(part) > 100 {
			t.Fatalf("page %d: %d items, %+v", pages, len(part), at)
		}
		if p.Offset = at.Next; at.Next == 0 {
			break
		}
	}
	if !slices.Equal(all, seen) {
		t.Errorf("%d of %d items in %d pages", len(seen), len(all), pages)
	}
}

// TestReadGoesOn: each part of a long file says where the next begins.
func TestReadGoesOn(t *testing.T) {
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "%d %s\n", i+1, strings.Repeat("ü", i%40))
	}
	for _, numbers := range []bool{true, false} {
		all, got := whole.String(), strings.Builder{}
		for first := int64(1); ; {
			rest := all[lineStart(all, int(first)-1):]
			o := readOut{FileContent: fileops.FileContent{Content: rest, Encoding: fileops.UTF8, Kind: "text", Size: int64(len(all)),
				Lines: 9000, First: first}}
			text := o.text(mostText, numbers)
			part, note, cut := strings.Cut(text, "\n[truncated: ")
			if len(part) > mostText || cut != o.Truncated || cut && !strings.HasPrefix(note, fmt.Sprintf("go on with offset %d;", o.NextOffset)) {
				t.Fatalf("from %d: %d bytes, %q", first, len(part), note)
			}
			if numbers && !strings.HasPrefix(part, fmt.Sprintf("%6d\t%d ", first, first)) {
				t.Fatalf("from %d: %.40q", first, part)
			}
			for line := range strings.Lines(part) {
				if _, plain, ok := strings.Cut(line, "\t"); ok {
					line = plain
				}
				got.WriteString(line)
			}
			if !cut {
				break
			}
			if o.NextByteOffset != int64(lineStart(all, int(o.NextOffset)-1)) {
				t.Fatalf("byte %d, line %d", o.NextByteOffset, o.NextOffset)
			}
			first = o.NextOffset
		}
		if got.String() != all {
			t.Errorf("numbers %v: the parts are not the whole", numbers)
		}
	}
	o := readOut{FileContent: fileops.FileContent{Content: strings.Repeat("ü", mostText), Encoding: fileops.UTF8, Kind: "text",
		Size: 2 * mostText, Lines: 1, First: 1}}
	if text := o.text(mostText, true); !o.Truncated || o.NextOffset != 0 || o.NextByteOffset < mostText/2 ||
		o.NextByteOffset%2 != 0 || !strings.Contains(text, fmt.Sprintf("byte_offset %d;", o.NextByteOffset)) {
		t.Errorf("a long line: %+v", o.NextByteOffset)
	}
}

// TestDiffGoesOn: likewise the lines of a diff.
func TestDiffGoesOn(t *testing.T) {
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "+%d\n", i)
	}
	got := ""
	for from := 1; from > 0; {
		var o diffOut
		o.show(whole.String(), from)
		if got += o.text; len(o.text) > mostText || o.Lines != 9000 || o.Next != 0 && o.Next <= from {
			t.Fatalf("from %d: %d bytes, %+v", from, len(o.text), o.Next)
		}
		from = o.Next
	}
	if got != whole.String() {
		t.Error("the parts are not the whole")
	}
}

// TestOutputKeepsItsEnds: of a long output the beginning and the end are shown.
func TestOutputKeepsItsEnds(t *testing.T) {
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&lines, i)
	}
	all := lines.String()
	for name, from := range map[string]*tools.Output{
		"lines": {Head: []byte(all[:12000]), Tail: []byte(all[12000:])}, "bytes": {Head: []byte(all[:9000]),
			Tail: []byte(all[len(all)-9000:]), Left: int64(len(all) - 18000)},
	} {
		var o bashOut
		o.show(from)
		head, tail, cut := strings.Cut(o.Output, "\n... ")
		if n := strings.Count(o.Output, "\n"); !cut || n > mostLines+5 || !strings.HasPrefix(all, head) || !strings.HasSuffix(tail,
			"\n4998\n4999\n") || o.Begins != len(head) {
			t.Errorf("%s: %d lines, begins %d", name, n, o.Begins)
		}
		if _, shown, _ := strings.Cut(tail, "\n"); int64(len(head)+len(shown))+o.LeftOut != int64(len(all)) {
			t.Errorf("%s: %d + %d + %d are not %d", name, len(head), len(shown), o.LeftOut, len(all))
		}
	}
}

// TestLogPages: the pages of a log give the log, and no character is cut between two.
func TestLogPages(t *testing.T) {
	log := strings.Repeat("x€é\U0001f600\n", 50) + "\xff\xbf\xbf\xbf\xbf\xbf\xbf end"
	var got strings.Builder
	for since := uint64(0); ; {
		r := &logReader{in: logIn{Tail: 7, Since: &since}, text: map[string][]byte{}}
		err := r.add(&api.Output{Stream: api.StreamStdout, At: since, Data: []byte(log[since:])})
		page := string(r.text[api.StreamStdout])
		if r.out.Next != since+uint64(len(page)) || page == "" || r.out.More != errors.Is(err, errFull) {
			t.Fatalf("since %d: %q, next %d, %v", since, page, r.out.Next, err)
		}
		if since < 500 && !utf8.ValidString(page) {
			t.Errorf("since %d: %q", since, page)
		}
		got.WriteString(page)
		if since = r.out.Next; !r.out.More {
			break
		}
	}
	if got.String() != log {
		t.Errorf("the pages are %q", got.String())
	}
}
