package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func place(t testing.TB) *os.File {
	t.Helper()
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func create(t testing.TB, dir *os.File, max int64) *Log {
	t.Helper()
	l, err := Create(dir, "log", max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// from reads all that is kept from off on; first is the offset of its first byte.
func from(t interface{ Fatal(...any) }, dir *os.File, off int64) (all []byte, first int64) {
	r, err := Open(dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	first = -1
	b := make([]byte, 1000)
	for {
		n, next, err := r.ReadAt(b, off)
		if err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = next - int64(n)
		} else if next-int64(n) != off {
			t.Fatal("a hole at ", off, ", it goes on at ", next-int64(n))
		}
		if n == 0 {
			return all, first
		}
		all, off = append(all, b[:n]...), next
	}
}

func TestALogKeepsTheNewestBytes(t *testing.T) {
	dir := place(t)
	l := create(t, dir, minSize)
	var want []byte
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		want = append(want, line...)
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	got, first := from(t, dir, 0)
	if first != l.Start() || l.End() != int64(len(want)) || !bytes.Equal(got, want[first:]) {
		t.Fatalf("from %d (%d to %d): %q", first, l.Start(), l.End(), got)
	}
	if len(got) < minSize/3 {
		t.Errorf("only %d bytes kept", len(got))
	}
	if size := diskSize(t, dir); size > minSize {
		t.Errorf("%d bytes on disk, want at most %d", size, minSize)
	}
	r, _ := Open(dir, "log")
	if n, next, err := r.ReadAt(make([]byte, 10), l.End()+5); n != 0 || next != l.End() || err != nil {
		t.Errorf("beyond the end: %d, %d, %v", n, next, err)
	}
	if r.Start() != l.Start() || r.End() != l.End() {
		t.Errorf("reader: %d to %d, log: %d to %d", r.Start(), r.End(), l.Start(), l.End())
	}
}

func diskSize(t testing.TB, dir *os.File) (sum int64) {
	for _, name := range []string{"log", "log.1"} {
		if info, err := os.Lstat(filepath.Join(dir.Name(), name)); err == nil {
			sum += info.Size()
			if info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", name, info.Mode())
			}
		}
	}
	return sum
}

// TestALogAgainstAModel writes, closes and kills at random and compares with all
// the bytes that were ever written.
func TestALogAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(name)
		dir, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		l, err := Create(dir, "log", minSize)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { l.Close() }()
		var want []byte
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				b := bytes.Repeat([]byte{byte(rapid.IntRange(0, 255).Draw(t, "byte"))}, rapid.IntRange(0, 5000).Draw(t, "size"))
				want = append(want, b...)
				if n, err := l.Write(b); n != len(b) || err != nil {
					t.Fatal(n, err)
				}
			},
			"again": func(t *rapid.T) {
				l.Close()
				cut := rapid.IntRange(0, 2).Draw(t, "cut")
				if l.end == l.base { // an empty file is never rotated
					cut = 0
				}
				switch cut {
				case 1: // killed between renaming and making the next one
					_ = os.Rename(name+"/log", name+"/log.1")
				case 2: // killed before the first line was written
					_ = os.Rename(name+"/log", name+"/log.1")
					_ = os.WriteFile(name+"/log", []byte(magic), 0o600)
				}
				if l, err = Create(dir, "log", minSize); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if l.End() != int64(len(want)) {
					t.Fatalf("end %d, want %d", l.End(), len(want))
				}
				off := rapid.IntRange(0, len(want)).Draw(t, "off")
				got, first := from(t, dir, int64(off))
				if first != max(int64(off), l.Start()) || !bytes.Equal(got, want[first:]) {
					t.Fatalf("from %d: %d bytes from %d of %d", off, len(got), first, len(want))
				}
			},
		})
	})
}

func TestReadersFollowAWriterThatRotates(t *testing.T) {
	dir := place(t)
	l := create(t, dir, 64<<10)
	const lines = 20000
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			r, err := Open(dir, "log")
			if err != nil {
				t.Error(err)
				return
			}
			b := make([]byte, 3000)
			var off int64
			for l.Wait(ctx, off) == nil {
				n, next, err := r.ReadAt(b, off)
				if err != nil {
					t.Error(err)
					return
				}
				for i, c := range b[:n] { // byte k of the log is k mod 251
					if at := next - int64(n) + int64(i); c != byte(at%251) {
						t.Errorf("byte %d is %d", at, c)
						return
					}
				}
				off = next
			}
			if off != l.End() {
				t.Errorf("read up to %d of %d", off, l.End())
			}
		})
	}
	pattern := make([]byte, 251+100)
	for i := range pattern {
		pattern[i] = byte(i % 251)
	}
	for range lines {
		at := l.End() % 251
		_, _ = l.Write(pattern[at : at+100])
	}
	l.Close()
	wg.Wait()
}

func TestAFullDiskIsNotedAndNoError(t *testing.T) {
	dir := place(t)
	l := create(t, dir, minSize)
	_, _ = l.Write([]byte("before"))
	good := l.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	l.file = full
	for range 3 {
		if n, err := l.Write([]byte("lost")); n != 4 || err != nil {
			t.Fatal(n, err)
		}
	}
	l.file = good
	_, _ = l.Write([]byte("after\n"))
	_, _ = l.Write([]byte("more\n"))
	got, _ := from(t, dir, 0)
	if want := "before\n[12 bytes were not kept: no space left on device]\nafter\nmore\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFullFileSystem(t *testing.T) {
	if at := os.Getenv("SPOOL_TEST_TINY"); at != "" {
		tiny(t, at)
		return
	}
	again(t, "TestAFullFileSystem", "SPOOL_TEST_TINY", t.TempDir(), unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
}

// tiny runs in a mount namespace of its own.
func tiny(t *testing.T, at string) {
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=32k"); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	fill := func() { _ = os.WriteFile(at+"/other", make([]byte, 64<<10), 0o600) }
	fill()
	l := create(t, dir, 16<<10)
	line := []byte(strings.Repeat("x", 99) + "\n")
	write := func(n int) {
		for range n {
			if n, err := l.Write(line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
	}
	write(50)
	_ = os.Remove(at + "/other")
	write(30)
	fill()
	write(500)
	_ = os.Remove(at + "/other")
	write(1)
	got, _ := from(t, dir, 0)
	if !bytes.Contains(got, []byte("bytes were not kept: no space left on device]\n"+string(line))) || !bytes.HasSuffix(got, line) {
		t.Errorf("no note in %q", got)
	}
	if err := WriteFile(dir, "f", []byte("old")); err != nil {
		t.Fatal(err)
	}
	fill()
	if err := WriteFile(dir, "f", make([]byte, 30<<10)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("WriteFile: %v", err)
	}
	if b, err := ReadFile(dir, "f", 10); string(b) != "old" || err != nil {
		t.Errorf("after that: %q, %v", b, err)
	}
}

func TestLinksAndStrangeFilesAreRefused(t *testing.T) {
	for what, make := range map[string]func(at string) error{
		"link":      func(at string) error { return os.Symlink("/etc/passwd", at) },
		"directory": func(at string) error { return os.Mkdir(at, 0o700) },
		"FIFO":      func(at string) error { return unix.Mkfifo(at, 0o600) },
		"two names": func(at string) error {
			return errors.Join(os.WriteFile(at+"x", nil, 0o600), os.Link(at+"x", at))
		},
	} {
		for _, name := range []string{"log", "log.1", ".log~"} {
			dir := place(t)
			if err := make(filepath.Join(dir.Name(), name)); err != nil {
				t.Fatal(err)
			}
			var err error
			if name == ".log~" {
				err = WriteFile(dir, "log", []byte("x"))
			} else {
				if _, err = Open(dir, "log"); err == nil || errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s at %s: opened, %v", what, name, err)
				}
				if _, err := ReadFile(dir, name, 10); err == nil {
					t.Errorf("%s at %s: read", what, name)
				}
				_, err = Create(dir, "log", minSize)
			}
			if err == nil {
				t.Errorf("%s at %s: taken", what, name)
			}
		}
	}
	dir := place(t)
	for _, name := range []string{"", ".", "..", "a/b", "a\x00b", strings.Repeat("x", 300)} {
		_, err1 := Create(dir, name, minSize)
		_, err2 := Open(dir, name)
		_, err3 := ReadFile(dir, name, 1)
		if err4 := WriteFile(dir, name, nil); err1 == nil || err2 == nil || err3 == nil || err4 == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	if _, err := Create(dir, "a.1", minSize); err == nil {
		t.Error("the name of another log's older file is taken")
	}
	if _, err := Create(dir, "a", minSize-1); err == nil {
		t.Error("a bound that is too small is taken")
	}
	if _, err := Open(dir, "a"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestWaiting(t *testing.T) {
	l := create(t, place(t), minSize)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := l.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	woken := make(chan error)
	go func() { woken <- l.Wait(t.Context(), 0) }()
	_, _ = l.Write([]byte("x"))
	if err := <-woken; err != nil {
		t.Error(err)
	}
	go func() { woken <- l.Wait(t.Context(), 1) }()
	l.Close()
	if err := <-woken; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if err := l.Wait(t.Context(), 0); err != nil {
		t.Error("what is there needs no waiting:", err)
	}
	if _, err := l.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := CreateLines(place(b), "log", 8<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	line := slices.Concat([]byte(`{"kind":"app_launch","detail":"`), bytes.Repeat([]byte("x"), 160), []byte(`"}`))
	var seq uint64
	for b.Loop() {
		seq++
		if err := l.Append(seq, line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	l := create(b, place(b), 8<<20)
	line := bytes.Repeat([]byte("x"), 200)
	for b.Loop() {
		_, _ = l.Write(line)
	}
}
