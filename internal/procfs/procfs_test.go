package procfs

import (
	"strings"
	"testing"
)

const tail = " S 10 20 30 34816 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 777 0 0\n"

func TestParseStat(t *testing.T) {
	for _, name := range []string{"sh", "", "a b", ") R 1 1 1 (", "((", "\xff\n"} {
		s, err := ParseStat([]byte("42 (" + name + ")" + tail))
		want := Stat{Name: name, State: 'S', Parent: 10, Group: 20, Session: 30, Terminal: 34816, Front: -1, Threads: 3, Start: 777}
		if err != nil || s != want {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
	for _, line := range []string{
		"", "1", "1 (x", "1 )x(", "1 (x) S 1 2", "1 (x) S one 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 2 18 19 20",
		"1 (x)" + strings.Replace(tail, "20 30", "x 30", 1), "1 (x)" + strings.Replace(tail, " S ", " SS ", 1),
	} {
		if s, err := ParseStat([]byte(line)); err == nil || s != (Stat{}) {
			t.Errorf("%q: %+v, %v", line, s, err)
		}
	}
}

func TestGone(t *testing.T) {
	for state, want := range map[byte]bool{'R': false, 'S': false, 'D': false, 'T': false, 'Z': true, 'X': true, 'x': true} {
		if s := (Stat{State: state}); s.Gone() != want {
			t.Errorf("%c: %v", state, !want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh)" + tail))
	f.Add([]byte("7 (a) b) (c) Z 1 2 3 4 -1 6 7 8 9 10 11 12 13 14 15 16 1 18 19 20"))
	f.Add([]byte("1 (x) S"))
	f.Add([]byte(") S 1"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, err := ParseStat(line); err != nil && s != (Stat{}) {
			t.Errorf("%q: %+v", line, s)
		}
	})
}
