//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestFIFO: a FIFO at the configuration's place is refused, not waited for.
func TestFIFO(t *testing.T) {
	m := newMachine(t)
	m.must(syscall.Mkfifo(m.opts.Project+"/.carrel.yaml", 0o644))
	m.fails("not a regular file")
	m = newMachine(t)
	m.must(syscall.Mkfifo(m.opts.Home+"/.config/carrel/config.yaml", 0o644))
	m.fails("not a regular file")
}

// TestSwappedForASymlink: a project that swaps its file for a symlink while it
// is opened never gets another file read.
func TestSwappedForASymlink(t *testing.T) {
	dir := t.TempDir()
	file, secret := filepath.Join(dir, ".carrel.yaml"), filepath.Join(dir, "secret")
	for name, text := range map[string]string{secret: "secret", file: "plain"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		link, plain := filepath.Join(dir, "link"), filepath.Join(dir, "plain")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink("secret", link)
			_ = os.Rename(link, file)
			_ = os.WriteFile(plain, []byte("plain"), 0o600)
			_ = os.Rename(plain, file)
		}
	})
	for range 2000 {
		if data, err := readProject(dir, ".carrel.yaml"); err == nil && strings.Contains(string(data), "secret") {
			t.Error("the file behind the symlink was read")
			break
		}
	}
	close(stop)
	wg.Wait()
}
