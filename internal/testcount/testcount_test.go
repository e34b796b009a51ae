package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCounter(t *testing.T) {
	for _, c := range []struct {
		name, in string
		reasons  []string
		line     string
		shows    []string
		fails    bool
	}{
		{
			name: "passes",
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.5}
`,
			line:  "1 passed, 0 failed, 0 skipped",
			shows: []string{"ok   p (1.5s)"},
		},
		{
			name: "slow tests are named, the slowest first, and subtests of one level",
			in: `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":6}
{"Action":"pass","Package":"p","Test":"TestB/one/two","Elapsed":7}
{"Action":"pass","Package":"p","Test":"TestB/one","Elapsed":7}
{"Action":"pass","Package":"p","Test":"TestC","Elapsed":1}
`,
			line:  "4 passed, 0 failed, 0 skipped",
			shows: []string{"slow p TestB/one (7.0s)\nslow p TestA (6.0s)\n4 passed"},
		},
		{
			name: "a failure shows its output and does not count again as its package",
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			line:  "0 passed, 1 failed, 0 skipped",
			shows: []string{"FAIL p TestA", "got 1, want 2"},
			fails: true,
		},
		{
			name:  "an unexpected skip is a failure",
			in:    `{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:3: no camera\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n",
			line:  "0 passed, 1 failed, 0 skipped",
			shows: []string{"SKIP not accepted: p TestA", "no camera"},
			fails: true,
		},
		{
			name: "an expected one is not",
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:3: no camera\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`,
			reasons: []string{"no camera"},
			line:    "1 passed, 0 failed, 1 skipped",
			shows:   []string{"--- skipped p TestA\n", "ok   p (0.0s), 1 skipped"},
		},
		{
			name: "a build failure",
			in: `{"Action":"build-output","ImportPath":"p","Output":"p.go:1:1: expected 'package'\n"}
{"Action":"fail","Package":"p"}
`,
			line:  "0 passed, 1 failed, 0 skipped",
			shows: []string{"expected 'package'"},
			fails: true,
		},
		{
			name: "a crash names the test that was running",
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`,
			line:  "1 passed, 1 failed, 0 skipped",
			shows: []string{"FAIL p TestA: it never ended"},
			fails: true,
		},
		{
			name:  "a stream that breaks off",
			in:    `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Pack`,
			line:  "0 passed, 1 failed, 0 skipped",
			fails: true,
		},
		{name: "plain words of go itself", in: "go: cannot find main module\n", line: "0 passed, 0 failed, 0 skipped", shows: []string{"cannot find main module"}, fails: true},
		{name: "packages without tests do not count", in: `{"Action":"skip","Package":"p"}` + "\n", line: "0 passed, 0 failed, 0 skipped", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			counts := filepath.Join(t.TempDir(), "counts")
			err := run(strings.NewReader(c.in), &out, c.reasons, counts)
			if (err != nil) != c.fails {
				t.Errorf("error %v, want one: %v", err, c.fails)
			}
			if !strings.HasSuffix(out.String(), c.line+"\n") {
				t.Errorf("output %q does not end with %q", out.String(), c.line)
			}
			for _, s := range c.shows {
				if !strings.Contains(out.String(), s) {
					t.Errorf("output %q does not show %q", out.String(), s)
				}
			}
			if got, err := os.ReadFile(counts); err != nil || string(got) != c.line+"\n" {
				t.Errorf("counts %q, %v, want %q", got, err, c.line)
			}
		})
	}
}

func TestReadReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(file, []byte("# why\n\n  no camera \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := readReasons(file)
	if err != nil || len(got) != 1 || got[0] != "no camera" {
		t.Errorf("got %q, %v, want [\"no camera\"]", got, err)
	}
	if _, err := readReasons(file + ".missing"); err == nil {
		t.Error("a missing file was accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"Action":"run","Package":"p","Test":"TestA"}`)
	f.Add("\x00\n{}\n{\"Action\":1}\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out strings.Builder
		tl := newCounter(&out, nil)
		if err := tl.read(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		tl.finish()
		if tl.skipped != 0 {
			t.Errorf("a skip was accepted without a reason: %q", in)
		}
	})
}
