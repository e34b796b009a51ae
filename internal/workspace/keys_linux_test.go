package workspace

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// TestYoursWritable: what programs inside can exchange on the way to a place counts, by
// whatever spelling and through whatever links, and each time as it is then.
func TestYoursWritable(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "proj/sub/f", "home/f", "home/d/f")
	for name, to := range map[string]string{
		"home/.gitconfig": dir + "/proj/link", "proj/link": "../home/f", "home/fine": "f", "home/far": dir + "/home/fine", "home/up": "../proj/sub/../../home/f", "home/loop": "loop", "home/gone": "../proj/none", "home/pd": "../proj", "top": "home",
		"home/over": "../proj/link/../f", "home/dd": "../proj/dlink/f", "proj/dlink": "../home/d",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Prepared{facts: newFacts(), Policy: effective(t, dir+"/proj")}
	for name, want := range map[string]bool{
		"proj/f": true, "proj": true, "proj/": true, "proj/none": true, "proj/sub/f": true, "home/f": false, "home/none": false, "home/none/x": false, "home/fine": false, "home/far": false, "top/fine": false, "home/d/../f": false,
		"home/.gitconfig": true, "proj/link": true, "top/.gitconfig": true, "home/up": true, "home/loop": true, "home/gone": true, "home/pd/f": true, "home/pd/../home/f": false, "home/over": true, "home/dd": true, "home/f/x": false, "proj/../home/f": false,
	} {
		if got := p.led(dir + "/" + name); got != want {
			t.Errorf("%s: writable is %v", name, got)
		}
	}
	if !p.led("home/f") {
		t.Error("a place that begins nowhere is not refused")
	}
	if err := os.Remove(dir + "/home/fine"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../proj/f", dir+"/home/fine"); err != nil || !p.led(dir+"/home/far") {
		t.Errorf("an answer is remembered: %v", err)
	}
}

// TestYoursFactsAtOnce: requests of several programs ask for facts at the same time.
func TestYoursFactsAtOnce(t *testing.T) {
	dir := t.TempDir()
	f := newFacts()
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for n := range 500 {
				f.canonical(dir + "/" + string(rune('a'+(i+n)%26)) + "/x")
				f.Identity(dir)
				if n%50 == 0 {
					f.forget(dir)
					f.forgetBelow(dir)
				}
			}
		})
	}
	asking.Wait()
	if _, kind := f.Resolve(dir); kind != sandbox.KindDir {
		t.Errorf("%s is %v", dir, kind)
	}
}

// TestYoursStalled: who announces bytes and sends none holds no slot.
func TestYoursStalled(t *testing.T) {
	p := &Prepared{facts: newFacts(), Policy: effective(t, t.TempDir())}
	k := &keyring{p: p, slots: make(chan struct{}, 1), ctx: t.Context(), ready: make(chan struct{})}
	attend := func(conn net.Conn, in io.Reader, size int64) error {
		from := &io.LimitedReader{R: in}
		_, err := k.attend(conn, bufio.NewReader(from), from, inside.Request{Operation: inside.OpToken, Size: size}, new(inside.Reply))
		return err
	}
	a, b := net.Pipe()
	stalled := make(chan error, 1)
	go func() { stalled <- attend(b, b, 10) }()
	c, d := net.Pipe()
	defer c.Close()
	if err := attend(d, bytes.NewReader(nil), 0); err == nil || !strings.Contains(err.Error(), "host") && !strings.Contains(err.Error(), "name") {
		t.Errorf("beside one that stalls: %v", err)
	}
	a.Close()
	if err := <-stalled; err == nil {
		t.Error("half a request is answered")
	}
}

// TestYoursGone: what a program asked for is given up when it has gone.
func TestYoursGone(t *testing.T) {
	p := &Prepared{facts: newFacts(), Policy: effective(t, t.TempDir()), req: Request{Environ: os.Environ()}}
	k := &keyring{p: p, slots: make(chan struct{}, 1), ctx: context.Background(), ready: make(chan struct{}), // never answered
		uses: []policy.CredentialUse{{Kind: policy.CredentialSignGPG, Key: "0123456789ABCDEF"}}}
	a, b := net.Pipe()
	ended := make(chan error, 1)
	object := "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nx\n"
	go func() {
		from := &io.LimitedReader{R: strings.NewReader(object)}
		_, err := k.attend(b, bufio.NewReader(from), from, inside.Request{Operation: inside.OpSign, Size: int64(len(object))}, new(inside.Reply))
		ended <- err
	}()
	time.AfterFunc(50*time.Millisecond, func() { a.Close() })
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was signed")
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody waits, and it goes on")
	}
}
