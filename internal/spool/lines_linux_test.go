package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func all(t testing.TB, dir *os.File, since uint64) (got []string) {
	t.Helper()
	err := ReadLines(dir, "lines", since, func(seq uint64, line []byte) error {
		got = append(got, fmt.Sprint(seq, " ", string(line)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func lines(t testing.TB, dir *os.File) *Lines {
	t.Helper()
	l, err := CreateLines(dir, "lines", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLinesComeBack(t *testing.T) {
	dir := place(t)
	if err := ReadLines(dir, "lines", 0, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	l := lines(t, dir)
	long := `"` + strings.Repeat("x", MaxLine-2) + `"`
	for i, line := range []string{`{"a":1}`, `[]`, long, `"ä"`} {
		if err := l.Append(uint64(i+1), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"", "{", "1 2", "{\n}", long + " "} {
		if err := l.Append(9, []byte(line)); err == nil {
			t.Errorf("%.20q is taken", line)
		}
	}
	if err := l.Append(0, []byte("1")); err == nil {
		t.Error("number 0 is taken")
	}
	if got := all(t, dir, 1); len(got) != 3 || got[0] != "2 []" || got[1] != "3 "+long || got[2] != `4 "ä"` {
		t.Errorf("%.100q", got)
	}
	stop := errors.New("stop")
	if err := ReadLines(dir, "lines", 0, func(uint64, []byte) error { return stop }); err != stop {
		t.Error(err)
	}
	l.Close()
	if l = lines(t, dir); l.Last() != 4 {
		t.Errorf("last %d, want 4", l.Last())
	}
	done := make(chan error)
	go func() { done <- l.Wait(t.Context(), 5) }()
	_ = l.Append(5, []byte("5"))
	_ = l.Append(6, []byte("6"))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTornLinesAndGarbageArePassedOver(t *testing.T) {
	dir := place(t)
	l := lines(t, dir)
	_ = l.Append(1, []byte(`1`))
	l.Close()
	f, err := os.OpenFile(filepath.Join(dir.Name(), "lines"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _ = f.WriteString("\n\x00\xff\n{\"seq\":\n{\"seq\":-1,\"line\":1}\n{\"seq\":7,\"line\":}\n{\"seq\":99999999999999999999,\"line\":1}\n")
	_, _ = f.Write(bytes.Repeat([]byte("y"), 3*MaxLine))
	_, _ = f.WriteString("\n{\"seq\":2,\"line\":2}\n{\"seq\":3,\"li")
	if got := all(t, dir, 0); len(got) != 2 || got[1] != "2 2" {
		t.Errorf("%q", got)
	}
	l = lines(t, dir)
	if err := l.Append(3, []byte("3")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, dir, 0); len(got) != 3 || got[2] != "3 3" {
		t.Errorf("%q", got)
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("{\"seq\":2,\"line\":2}\n{\"seq\":3,\"li"))
	f.Add(append(header(5), "{\"seq\":2,\"line\":{\"a\":[]}}\n"...))
	f.Add([]byte("carrel log 1 9223372036854775807\n"))
	f.Add(header(1 << 62))
	dir := place(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, data := range [][]byte{b, append(header(7), b...)} {
			if err := os.WriteFile(filepath.Join(dir.Name(), "lines"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			var last uint64
			check := func(seq uint64, line []byte) error {
				if !json.Valid(line) || bytes.IndexByte(line, '\n') >= 0 {
					t.Errorf("line %d is %q", seq, line)
				}
				last = max(last, seq)
				return nil
			}
			if err := ReadLines(dir, "lines", 0, check); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			l, err := CreateLines(dir, "lines", minSize)
			if err != nil {
				t.Fatal(err)
			}
			next := last + 1
			if next == 0 {
				next = last
			}
			if l.Last() != last || l.Append(next, []byte("1")) != nil {
				t.Errorf("last %d, want %d", l.Last(), last)
			}
			l.Close()
			found := false
			_ = ReadLines(dir, "lines", next-1, func(seq uint64, _ []byte) error { found = found || seq == next; return nil })
			if !found {
				t.Error("the line that was appended is not there")
			}
			_ = os.Remove(filepath.Join(dir.Name(), "lines.1"))
		}
	})
}
