package statedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
)

func TestDenialsReadsBothParts(t *testing.T) {
	tests := []struct {
		name         string
		older, newer string // "" for no file
		want         string
		broken       int
	}{
		{name: "no log"},
		{name: "one part", newer: `{"code":"a"}` + "\n" + `{"code":"b"}` + "\n", want: "a b"},
		{name: "the older part first", older: `{"code":"a"}` + "\n", newer: `{"code":"b"}` + "\n", want: "a b"},
		{name: "only the older part", older: `{"code":"a"}` + "\n", want: "a"},
		{name: "lines that are no records", older: "x\n", newer: `{"code":"b"}` + "\n" + `{"co`, want: "b", broken: 2},
		{name: "what is not wanted", newer: `{"code":"no"}` + "\n" + `{"code":"b"}` + "\n", want: "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, content string) {
				if content == "" {
					return
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("denials.jsonl.1", tt.older)
			write("denials.jsonl", tt.newer)
			list, broken, err := Denials(dir, func(d *api.Denial) bool { return d.Code != "no" })
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, d := range list {
				codes = append(codes, d.Code)
			}
			if got := strings.Join(codes, " "); got != tt.want || broken != tt.broken {
				t.Errorf("got %q with %d broken, want %q with %d", got, broken, tt.want, tt.broken)
			}
		})
	}
}

// TestLogTurnedOverWhileRead: a log that becomes the older part between the two
// openings is read once.
func TestLogTurnedOverWhileRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "links.jsonl")
	if err := os.WriteFile(file, []byte(`{"url":"https://a/"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	list, _, err := Links(dir, nil)
	if err != nil || len(list) != 1 {
		t.Errorf("got %v, %v, want one record", list, err)
	}
}

func TestLogWithoutPlace(t *testing.T) {
	if _, _, err := Denials("", nil); err == nil {
		t.Error("no error without a state directory")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "denials.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Denials(dir, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory for a log: got %v", err)
	}
}

// TestFollowConnections: each record once, whole ones only, across a log that is
// turned over.
func TestFollowConnections(t *testing.T) {
	dir := t.TempDir()
	s := At(dir)
	put := func(host string) {
		t.Helper()
		if err := s.LogConnection(api.Connection{Host: host}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	follow := func(e *LogEnd) {
		t.Helper()
		if err := e.Each(dir, func(c api.Connection) error { got = append(got, c.Host); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	empty := EndOfConnections(dir)
	follow(&empty)
	put("before")
	end := EndOfConnections(dir)
	put("a")
	follow(&end)
	follow(&end)
	f, err := os.OpenFile(filepath.Join(dir, networkLog), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"host":"b`)
	follow(&end)
	_, _ = f.WriteString("\"}\n")
	f.Close()
	follow(&end)
	put("c")
	if err := os.Rename(filepath.Join(dir, networkLog), filepath.Join(dir, networkLog+".1")); err != nil {
		t.Fatal(err)
	}
	put("d")
	follow(&end)
	follow(&empty)
	if got := strings.Join(got, " "); got != "a b c d d" { // the last is the other follower's
		t.Errorf("got %q", got)
	}
}
