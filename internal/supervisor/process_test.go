package supervisor

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"op":"status"}` + "\n"))
	f.Add([]byte(`{"op":"approve","id":"ab12cd","check":true}` + "\n{}"))
	f.Add([]byte(`{"op":"status","more":1}` + "\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := readRequest(bufio.NewReaderSize(bytes.NewReader(text), maxLine))
		if err == nil && !bytes.Contains(text, []byte("\n")) {
			t.Errorf("half a line was understood as %+v", r)
		}
	})
}

func TestRequestsAreStrict(t *testing.T) {
	for _, line := range []string{`{"op":"stop","force":true}`, `{"op":"stop"} {}`, `["stop"]`, `stop`, ``, strings.Repeat(" ", maxLine)} {
		if r, err := readRequest(bufio.NewReaderSize(strings.NewReader(line+"\n"), maxLine)); err == nil {
			t.Errorf("%.40q: %+v", line, r)
		}
	}
}

func TestPick(t *testing.T) {
	var list []api.Approval
	for _, id := range []string{"ab12", "ab13", "cd", "cd45"} {
		list = append(list, api.Approval{ID: id})
	}
	for _, c := range []struct{ prefix, want string }{
		{"ab12", "ab12"}, {"ab13", "ab13"}, {"cd", "cd"}, {"cd4", "cd45"}, {"ab", ""}, {"", ""}, {"x", ""}, {"ab123", ""},
	} {
		if got, err := PickApproval(list, c.prefix); got.ID != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v", c.prefix, got.ID, err)
		}
	}
}

func TestBoundArgv(t *testing.T) {
	if got := BoundArgv([]string{"a", strings.Repeat("x", 2*maxArgv), "b"}, maxArgv); len(got) != 2 || len(got[1]) > maxArgv+3 {
		t.Errorf("%d words", len(got))
	}
	if got := BoundArgv(slices.Repeat([]string{""}, 1000), maxArgv); len(got) != 257 {
		t.Errorf("%d words", len(got))
	}
}
