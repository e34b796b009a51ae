package changelog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"carrel/internal/broker"

	"golang.org/x/sys/unix"
)

func testRecord(t *testing.T, most budget) (*Log, func() string) {
	t.Helper()
	at := t.TempDir() + "/r.log"
	r := &Log{touched: make(map[string]struct{}), most: most, path: at}
	t.Cleanup(r.Close)
	return r, func() string {
		r.Close()
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// TestRecordBudget: a flood of paths takes bounded memory and a bounded file.
// Beyond the memory paths are written again; beyond the file nothing may change.
func TestRecordBudget(t *testing.T) {
	for _, most := range []budget{{touched: 5, held: 1 << 20, written: 1 << 20}, {touched: 1000, held: 50, written: 1 << 20}} {
		r, text := testRecord(t, most)
		for range 2 {
			for i := range 100 {
				if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: fmt.Sprintf("/p/dir%04d", i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		held := 0
		for at := range r.touched {
			held += len(at)
		}
		if len(r.touched) > most.touched || held > most.held || len(r.touched) == 0 {
			t.Errorf("%+v: %d paths of %d bytes are held", most, len(r.touched), held)
		}
		if n := strings.Count(text(), "\n"); n != 200-len(r.touched) {
			t.Errorf("%+v: %d lines with %d paths held", most, n, len(r.touched))
		}
	}
	r, text := testRecord(t, budget{touched: 5, held: 50, written: 1000})
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		err = r.Before(&broker.Change{Op: broker.OpMkdir, Path: fmt.Sprintf("/p/dir%04d", i)})
	}
	if !errors.Is(err, unix.EDQUOT) || !errors.Is(r.lost, errFull) {
		t.Errorf("a full record answers %v, and the run says %v", err, r.lost)
	}
	if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: "/p/dir0000"}); err != nil {
		t.Errorf("what is recorded already: %v", err)
	}
	if n := len(text()); n > 1000 || n < 900 {
		t.Errorf("the file has %d bytes", n)
	}
}

// TestRecordFirstTouch: one line for a path, and one for each pair of names that
// a directory goes between, as all that is in it goes along.
func TestRecordFirstTouch(t *testing.T) {
	r, text := testRecord(t, usualBudget)
	for range 2 {
		for _, ch := range []broker.Change{
			{Op: broker.OpChmod, Path: "/p/a"}, {Op: broker.OpChmod, Path: "/p/b"}, {Op: broker.OpUnlink, Path: "/p/a"}, {Op: broker.OpRename, Path: "/p/a", To: "/p/b", Kind: broker.KindFile},
			{Op: broker.OpExchange, Path: "/p/a", To: "/p/b", Kind: broker.KindFile, Over: broker.KindDir}, {Op: broker.OpRename, Path: "/p/b", To: "/p/a", Kind: broker.KindDir},
			{Op: broker.OpLink, Path: "/p/a", To: "/p/l"}, {Op: broker.OpOpen, Path: "/p/x\n\xff"},
		} {
			if err := r.Before(&ch); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "chmod \"/p/a\"\nchmod \"/p/b\"\nexchange \"/p/a\" \"/p/b\"\nrename \"/p/b\" \"/p/a\"\nlink \"/p/a\" \"/p/l\"\nopen \"/p/x\\n\\xff\"\n"
	if got := text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRecordGoesOn: that of a workspace that stays is never full; the newest lines are
// there, with one older part.
func TestRecordGoesOn(t *testing.T) {
	at := t.TempDir() + "/r.log"
	r := &Log{touched: make(map[string]struct{}), most: budget{touched: 5, held: 50, written: 1000}, path: at, goesOn: true}
	defer r.Close()
	for i := range 1000 {
		if err := r.Before(&broker.Change{Op: broker.OpMkdir, Path: fmt.Sprintf("/p/dir%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	var lines []string
	for _, name := range []string{at + ".1", at} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1000 {
			t.Errorf("%d bytes in a part", len(text))
		}
		lines = append(lines, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
	}
	for i, l := range lines {
		if want := fmt.Sprintf("/p/dir%04d", 1000-len(lines)+i); !strings.Contains(l, want) {
			t.Fatalf("line %d of %d is %q, want %s", i, len(lines), l, want)
		}
	}
}
