package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// found says whether a number is in the file, but for the moments in which two names are
// exchanged.
func found(path string, n int) bool {
	for range 1000 {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || strings.TrimSuffix(strings.TrimSuffix(string(text), "ours\n"), "\n") == fmt.Sprint(n) {
			return true
		}
	}
	return false
}

// TestExchangedMeanwhile: the last moment, when somebody replaces the file after our last look.
func TestExchangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	write := func(text string) {
		if err := os.WriteFile(path+".theirs", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".theirs", path); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Stage([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	write("theirs")
	err = f.exchange(f.ours)
	if got, _ := os.ReadFile(path); err != ErrChanged || string(got) != "theirs" {
		t.Errorf("got %v, %q", err, got)
	}
}

// TestNobodysEditIsLost: a program that writes its own number by replacing the file all
// the time always finds the last one it wrote, whatever we replace and remove meanwhile.
func TestNobodysEditIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	write := func(n int) {
		if err := os.WriteFile(path+".theirs", fmt.Appendf(nil, "%d\n", n), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(path+".theirs", path); err != nil {
			t.Error(err)
		}
	}
	write(0)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; !stop.Load(); n++ {
			write(n)
			if !found(path, n) {
				t.Errorf("number %d was written, and is not there", n)
			}
		}
	}()
	committed, refused := 0, 0
	for i := range 1000 {
		f, err := Open(path)
		if err != nil {
			continue
		}
		text := append([]byte(strings.TrimSuffix(string(f.Text), "ours\n")), "ours\n"...)
		if f.Text == nil {
			f.Close()
			continue
		}
		if i%8 == 7 {
			err = f.Remove()
		} else {
			err = f.Replace(text)
		}
		if err == nil {
			committed++
		} else if errors.Is(err, ErrChanged) {
			refused++
		} else {
			t.Error(err)
		}
		f.Close()
	}
	stop.Store(true)
	<-done
	t.Logf("%d were committed, %d refused", committed, refused)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 2 {
		t.Errorf("left beside it: %v %v", left, err)
	}
}
