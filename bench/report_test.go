package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingContendersHaveNoNumber(t *testing.T) {
	tb := table{title: "T", unit: "ms", rows: rows([]*contender{
		{name: nameNative, got: samples{2}},
		{name: nameBwrap, problem: errMissing, got: samples{5}},
		{name: nameCarrel, got: samples{6, 6, 6}},
	})}
	tb.compare(nameCarrel, nameBwrap, 2, "start")
	var b strings.Builder
	tb.write(&b)
	for _, want := range []string{
		"| bwrap | - | - | - | - | - | 0 | not installed |",
		"| carrel | 6.00 | 6.00 | 6.00 | 3.00x | - | 3 |  |",
		"- start: not measured",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestVerdicts(t *testing.T) {
	tb := table{rows: rows([]*contender{{name: "a", got: samples{3}}, {name: "b", got: samples{2}}})}
	tb.compare("a", "b", 1.5, "x")
	tb.compare("a", "b", 1.4, "x")
	tb.compareTo("a", 3, "MiB")
	for i, want := range []string{"**1.50x**, to reach 1.5x: met", "to reach 1.4x: not met", "**3.0** MiB, to reach 3: met"} {
		if !strings.Contains(tb.verdicts[i], want) {
			t.Errorf("verdict %q lacks %q", tb.verdicts[i], want)
		}
	}
}

func TestInterleave(t *testing.T) {
	dir := t.TempDir()
	b := &bench{fixture: &fixture{root: dir}, order: rand.New(rand.NewPCG(1, 2)), progress: &strings.Builder{}}
	list := []*contender{
		{name: "a", dir: dir, argv: []string{"/bin/true"}},
		{name: "b", dir: dir, argv: []string{"/bin/true"}},
		{name: "missing", dir: dir},
		{name: "broken", dir: dir, argv: []string{"/bin/false"}},
	}
	var order []string
	b.interleave("test", 20, list, func(c *contender) (float64, error) {
		order = append(order, c.name)
		return 1, nil
	})
	if n := len(list[0].got); n != 20 {
		t.Errorf("%d samples, want 20: warm-up runs must not count", n)
	}
	if !errors.Is(list[2].problem, errMissing) || list[3].problem == nil {
		t.Errorf("problems %v, %v: want one each", list[2].problem, list[3].problem)
	}
	same := 0
	for i := 0; i+1 < len(order); i += 2 {
		if order[i] == "a" {
			same++
		}
		if order[i] == order[i+1] {
			t.Fatalf("round %d ran %s twice", i/2, order[i])
		}
	}
	if same == 0 || same == len(order)/2 {
		t.Errorf("the order is not drawn anew: a first in %d of %d rounds", same, len(order)/2)
	}
}

func TestFixture(t *testing.T) {
	f, err := newFixture(t.TempDir(), 250)
	if err == nil {
		err = f.fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.repo + "/.git/HEAD", f.maskPath(0), f.maskPath(maskFiles - 1), f.large + "/group00/dir002/file049.go", f.large + "/group00/dir000/secrets.json"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	f.remove()
	if _, err := os.Stat(f.root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q is still there: %v", filepath.Base(f.root), err)
	}
}
