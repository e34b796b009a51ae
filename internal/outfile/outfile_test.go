package outfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhole: a file is there as a whole or as it was, and nothing is left beside it.
func TestWhole(t *testing.T) {
	at := t.TempDir()
	file := filepath.Join(at, "out")
	for _, data := range []string{"one", "two"} {
		if err := Data(file, nil, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	full := errors.New("no more")
	err := Whole(file, nil, func(to io.Writer) error {
		_, _ = to.Write([]byte("half"))
		return full
	})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(file); string(got) != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if list, err := os.ReadDir(at); len(list) != 1 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	var out bytes.Buffer
	if err := Data("-", &out, []byte("x")); err != nil || out.String() != "x" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestExport: a file that is there is replaced where that was asked for alone.
func TestExport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	if replaced, err := Export(file, []byte("one"), false); replaced || err != nil {
		t.Errorf("%v, %v", replaced, err)
	}
	if _, err := Export(file, []byte("two"), false); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("%v", err)
	}
	if replaced, err := Export(file, []byte("two"), true); !replaced || err != nil {
		t.Errorf("%v, %v", replaced, err)
	}
	if got, err := os.ReadFile(file); string(got) != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
