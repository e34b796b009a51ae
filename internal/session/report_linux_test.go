package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
)

// TestReportOfAStart: progress comes before the last word, and nothing after it.
func TestReportOfAStart(t *testing.T) {
	denied := &api.Denial{Code: api.CodeNotHeld, Operation: "start", Message: "no"}
	for name, c := range map[string]struct {
		last func(*Reporter)
		want func(report) bool
	}{
		"ready": {func(r *Reporter) { _ = r.Ready(Ready{}) }, func(s report) bool { return s.Ready != nil && s.Error == "" }},
		"an error": {func(r *Reporter) { r.Failed(errors.New("x")) }, func(s report) bool {
			return s.Error == "x" && s.Why == nil &&
				!s.Taken
		}},
		"a denial": {func(r *Reporter) { r.Failed(fmt.Errorf("y: %w", denied)) }, func(s report) bool {
			return s.Why != nil &&
				s.Why.Code == api.CodeNotHeld
		}},
		"a name held": {func(r *Reporter) { r.Failed(named.ErrTaken) }, func(s report) bool { return s.Taken }},
	} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r := &Reporter{to: out}
		r.Progress("setup 1 of 1")
		c.last(r)
		r.Progress("later")
		r.Failed(errors.New("later"))
		var lines []report
		for text := bufio.NewScanner(in); text.Scan(); { // ends, as the last word closes it
			var one report
			if err := json.Unmarshal(text.Bytes(), &one); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			lines = append(lines, one)
		}
		in.Close()
		if len(lines) != 2 || lines[0].Progress != "setup 1 of 1" || !c.want(lines[1]) {
			t.Errorf("%s: %+v", name, lines)
		}
	}
	var none *Reporter
	none.Progress("nobody started this process")
	if err := none.Ready(Ready{}); err != nil {
		t.Error(err)
	}
	none.Gone(func() { t.Error("nobody is gone") })()
	if !IsDesk("/x/"+DeskArg0) || IsDesk("carrel") {
		t.Error("what a supervisor is called")
	}
}

// TestFileHelperServesOne: a helper serves one request at a time, in its own directory, and is
// let go of once.
func TestFileHelperServesOne(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	h := &fileHelper{dir: "/p", conn: out}
	f := &fileHelpers{there: h, idle: time.NewTimer(time.Hour)}
	if f.take("/q") != nil {
		t.Error("it serves another directory")
	}
	if f.take("/p") != h || f.take("/p") != nil {
		t.Error("it serves two at once")
	}
	f.give(&fileHelper{})
	if f.take("/p") != nil {
		t.Error("another one that came back makes it free")
	}
	if f.give(h); f.take("/p") != h {
		t.Error("it is not free again")
	}
	f.drop(&fileHelper{})
	if f.there != h {
		t.Error("another one was dropped, and it went")
	}
	f.drop(h)
	f.drop(h)
	if _, err := out.Write([]byte("x")); err == nil || f.take("/p") != nil || f.busy {
		t.Errorf("after it was dropped: %v", err)
	}
}

// TestLongSubjects: what is too long keeps its beginning and its end.
func TestLongSubjects(t *testing.T) {
	long := "/begin" + strings.Repeat("x", 10_000) + "/end"
	if got := shortened(long); len(got) >= len(long) || !strings.HasPrefix(got, "/begin") || !strings.HasSuffix(got, "/end") ||
		!strings.Contains(got, "...") {
		t.Errorf("%d bytes", len(got))
	}
	if shortened("/p/a") != "/p/a" {
		t.Error("a short one is changed")
	}
}
