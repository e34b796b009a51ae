package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/fileops"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAnswersAsText: what a model reads of each kind of answer, with how to go on where it is cut.
func TestAnswersAsText(t *testing.T) {
	found := func(truncated bool, next, total int) foundOut {
		return foundOut{Found: fileops.Found{Paths: []fileops.Path{"a", "b"}, Truncated: truncated, NextOffset: next, Total: total}}
	}
	lines := []fileops.Line{{Number: 3, Text: "near"}, {Number: 4, Text: "hit", Match: true}}
	for _, c := range []struct {
		out  shown
		want string
	}{
		{bashOut{Output: "out"}, "out"},
		{bashOut{Output: "out", App: "a1", Running: true, ExitCode: 3}, "out[it runs as app a1]"},
		{bashOut{Output: "out", TimedOut: true, Signal: "SIGKILL"}, "out\n[its time was over, and it was ended]"},
		{bashOut{Output: "out", Signal: "SIGTERM", ExitCode: 143}, "out\n[ended by SIGTERM]"},
		{bashOut{Output: "out", App: "a1", LeftOut: 7, Begins: 3},
			"out\n[truncated: 7 bytes are left out; app_log with app a1, stream stdout and since 3 has them]"},

		{listingOut{Listing: fileops.Listing{Total: 4, HiddenLeft: 2, Entries: []fileops.Entry{{Name: "f", Type: fileops.TypeFile, Size: 5},
			{Name: "d", Type: fileops.TypeDir}, {Name: "l", Type: fileops.TypeSymlink, Target: "f"}, {Name: "p", Type: "fifo"}}}},
			"f\t5 bytes\nd/\nl -> f\np\tfifo\n[2 names that begin with a dot are left out; hidden: true shows them]\n"},
		{listingOut{}, "[nothing]\n"},
		{found(false, 0, 2), "a\nb\n"},
		{found(true, 2, 9), "a\nb\n[truncated: go on with offset 2; there are 9]\n"},
		{foundOut{Found: fileops.Found{Truncated: true, Incomplete: "too deep"}}, "[truncated: too deep]\n"},

		{grepOut{Matches: fileops.Matches{Files: []fileops.FileMatches{{Path: "a", Lines: lines}, {Path: "b", Count: 2}, {Path: "c"}}}},
			"a-3-near\na:4:hit\nb:2\nc\n"},
		{grepOut{Matches: fileops.Matches{TooLarge: 1}}, "[nothing matches]\n[1 files are too large to match over lines]\n"},
		{grepOut{Matches: fileops.Matches{Files: []fileops.FileMatches{{Path: "c"}}, Truncated: true, Incomplete: "time is over"}},
			"c\n[truncated: there is more than these 1 lines; narrow it by path, include or pattern; time is over]\n"},

		{editOut{Edited: fileops.Edited{Replacements: 1, Diff: "+a\n"}, Step: 4}, "[1 replacement, step 4]\n+a\n"},
		{editOut{Edited: fileops.Edited{Replacements: 2, Diff: "+a\n", DiffTruncated: true}},
			"[2 replacements, step 0]\n+a\n[truncated: the diff is longer; read_file shows what is there now]"},

		{logOut{Stdout: "a", Stderr: "b"}, "a\n[stderr]\nb"},
		{logOut{Stdout: "a\n", Stderr: "b"}, "a\n[stderr]\nb"},
		{logOut{Stderr: "b", Lost: 5}, "[stderr]\nb\n[5 bytes before that are kept no more]"},
		{logOut{Stdout: "a", More: true, Skipped: true, Next: 9}, "a\n[truncated: go on with since 9]"},
		{logOut{Stdout: "a", Skipped: true}, "a\n[truncated: this is the end; with stream and since 0 it begins at the beginning]"},

		{screenOut{Screen: &api.Screen{Scrollback: []string{"old"}, Lines: []string{"new", ""}}}, "old\nnew\n\n"},
	} {
		if got := c.out.content()[0].(*sdk.TextContent).Text; got != c.want {
			t.Errorf("%+v\nis   %q\nwant %q", c.out, got, c.want)
		}
	}
	if got := (screenOut{}).content(); got != nil {
		t.Errorf("no screen: %+v", got)
	}
}

// TestLongScreenKeepsItsEnd: of a terminal the newest lines are shown, and no character is cut.
func TestLongScreenKeepsItsEnd(t *testing.T) {
	s := screenOut{Screen: &api.Screen{Scrollback: []string{strings.Repeat("€", mostText)}, Lines: []string{"x$ "}}}
	text := s.content()[0].(*sdk.TextContent).Text
	note, shown, _ := strings.Cut(text, "\n")
	if !strings.HasSuffix(shown, "€\nx$ \n") || len(shown) > mostText || len(shown) < mostText-4 || !utf8.ValidString(shown) ||
		note != fmt.Sprintf("[truncated: %d bytes of what has left the screen]", 2*mostText+5) {
		t.Errorf("%q and %d bytes", note, len(shown))
	}
}

// TestCutsAreBetweenLines: a text is cut behind a line, or between characters where a line is long,
// and what is shown and what is left are the whole.
func TestCutsAreBetweenLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		most  int
		shown string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aaa\nbb", 5, "aaa\n"}, {"a\nbbbbbbb", 6, "a\nbbbb"}, {"€€", 5, "€"}, {"€", 2, ""},
		{strings.Repeat("\n", mostLines+1), mostText, strings.Repeat("\n", mostLines)},
	} {
		shown, left := clip(c.text, c.most)
		if shown != c.shown || len(shown)+left != len(c.text) {
			t.Errorf("%.20q to %d: %.20q, and %d are left", c.text, c.most, shown, left)
		}
	}
	items := make([]string, mostLines+5)
	if text, n := joinLines(items, func(s string) string { return s }); n != mostLines || len(text) != mostLines {
		t.Errorf("%d lines", n)
	}
	long := strings.Repeat("x", mostText)
	if text, n := joinLines([]string{long, "b"}, func(s string) string { return s }); n != 1 || text != long+"\n" {
		t.Errorf("%d lines: the first is there, however long it is", n)
	}
	for text, want := range map[string]string{"a\nb\n": "b", "a\nb": "b", "\n": "", "\xff\n": "\uFFFD",
		"x" + strings.Repeat("€", 100): "x" + strings.Repeat("€", 66)} {
		if got := lastLine([]byte(text)); got != want {
			t.Errorf("the last line of %.20q is %q", text, got)
		}
	}
}

// TestRefusalsSayWhy: each kind of error has its code, its subject and a hint in words of tools.
func TestRefusalsSayWhy(t *testing.T) {
	tool := &Tool{Name: "read_file"}
	for _, c := range []struct {
		err  error
		want problem
		text string
	}{
		{errors.New("it broke"), problem{Code: "failed", Message: "it broke", Operation: "read_file"}, "failed: it broke"},
		{fmt.Errorf("around: %w", &api.Denial{Code: "x", Message: "m", Operation: "o", Subject: "a\xff", Rule: "r", Source: "s", Hint: "h"}),
			problem{"x", "m", "o", "a\uFFFD", "r", "s", "h"}, "x: m\nhint: h"},
		{&fileops.Error{Code: "absent", Message: "m", Operation: "read", Subject: "a", Hint: "`carrel stop` ends it"},
			problem{Code: "absent", Message: "m", Operation: "read", Subject: "a", Hint: "workspace_stop ends it"},
			"absent: m\nhint: workspace_stop ends it"},
	} {
		r := tool.refusal(t.Context(), c.err)
		if got := r.StructuredContent; !r.IsError || got != c.want || r.Content[0].(*sdk.TextContent).Text != c.text {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
	long := tool.refusal(t.Context(), errors.New(strings.Repeat("x", 2*mostText))).StructuredContent.(problem)
	if len(long.Message) != mostText/2 {
		t.Errorf("%d bytes", len(long.Message))
	}
}

// TestLinesAreAnsweredByThemselves: a line that is no message is answered under its id, and those
// around it are handed on.
func TestLinesAreAnsweredByThemselves(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for said, want := range map[string]string{ // what is handed on, or ! and the id and the code of the answer
		ping:                          ping + "\n",
		"[" + ping + "," + ping + "]": ping + "\n" + ping + "\n",
		"  \n\n" + ping:               ping + "\n",
		"{":                           "!null -32700",
		"[]":                          "!null -32600",
		`{"id":7}`:                    "!7 -32600",
		`{"id":"a\u0041","x":1}`:      `!"aA" -32600`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                        "!1.5 -32600", // which the library would answer as 1
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                         "!null -32600",
		`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", maxLine) + `"}`: "!null -32700",
	} {
		var out kept
		in, _ := transport(io.NopCloser(strings.NewReader(said+"\n"+ping)), &out)
		got, err := io.ReadAll(in)
		on, last := strings.CutSuffix(string(got), ping+"\n")
		var answer struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		refused := out.Len() > 0
		if refused {
			if err := json.Unmarshal([]byte(out.String()), &answer); err != nil {
				t.Errorf("%.40q: %v: %s", said, err, out.String())
			}
			on += fmt.Sprintf("!%s %d", answer.ID, answer.Error.Code)
		}
		if on = strings.ReplaceAll(on, `\u0041`, "A"); err != nil || !last || on != want {
			t.Errorf("%.40q: %q, %v, want %q", said, on, err, want)
		}
		select {
		case <-in.over:
		default:
			t.Errorf("%.40q: the end is not told", said)
		}
	}
}

// kept is a writer that can be closed.
type kept struct{ strings.Builder }

func (*kept) Close() error { return nil }
