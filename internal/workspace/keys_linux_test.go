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

	"carrel/internal/config"
	"carrel/internal/inside"
	"carrel/internal/keys"
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
		"home/.gitconfig": dir + "/proj/link", "proj/link": "../home/f", "home/fine": "f", "home/far": dir + "/home/fine", "home/up": "../proj/sub/../../home/f", "home/loop": "loop", "home/gone": "../proj/none", "home/pd": "../proj", "home/ps": "../proj/sub", "top": "home",
		"home/over": "../proj/link/../f", "home/dd": "../proj/dlink/f", "proj/dlink": "../home/d",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Prepared{facts: newFacts(), Policy: effective(t, dir+"/proj")}
	for name, want := range map[string]bool{
		"proj/f": true, "proj": true, "proj/": true, "proj/none": true, "proj/sub/f": true, "home/f": false, "home/none": false, "home/none/x": false, "home/fine": false, "home/far": false, "top/fine": false, "home/d/../f": false,
		"home/.gitconfig": true, "proj/link": true, "top/.gitconfig": true, "home/up": true, "home/loop": true, "home/gone": true, "home/pd/f": true, "home/pd/../home/f": true, "home/ps/../f": true, "home/over": true, "home/dd": true, "home/f/x": false, "proj/../home/f": true, "home/../home/f": false,
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

// TestYoursInTheProject: keys, known hosts and settings that are links into the project
// are not used, nor is a program that reads such settings started.
func TestYoursInTheProject(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
	tree(t, dir, "proj/f", "home/.gnupg/gpg.conf", "home/.config/gh/config.yml", "home/.ssh/id.pub", "home/dots/f")
	for _, at := range []string{"home/.ssh/known_hosts", "proj/known_hosts"} {
		if err := os.WriteFile(filepath.Join(dir, at), []byte("github.com "+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &Prepared{facts: newFacts(), Policy: effective(t, dir+"/proj"), place: place{home: dir + "/home"}, req: Request{Environ: []string{"HOME=" + dir + "/home"}},
		Loaded: &config.Loaded{Settings: config.Settings{Credentials: []policy.CredentialUse{{Kind: policy.CredentialSSH, Key: dir + "/home/.ssh/id.pub"}}}}}
	host, err := policy.ParseCredentialHost("github.com")
	if err != nil {
		t.Fatal(err)
	}
	look := func() (k *keyring, trusted error) {
		k = &keyring{p: p, prints: make(map[string]string), agent: &keys.Agent{Known: p.knownHosts()}}
		return k, k.trusted()
	}
	gpg, gh := []string{dir + "/home/.gnupg"}, []string{dir + "/home/.config/gh"}
	k, trusted := look()
	if trusted != nil || !k.agent.Known.Knows(host) || k.outOfReach("gpg", gpg) != nil || k.outOfReach("gh", gh) != nil {
		t.Fatalf("the person's own: %v", trusted)
	}
	link := func(name, to string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("home/.gnupg/gpg.conf", "home/dots/f")
	if err := k.outOfReach("gpg", gpg); err != nil {
		t.Errorf("a link elsewhere: %v", err)
	}
	link("home/.gnupg/gpg.conf", "proj/f")
	link("home/.config/gh/config.yml", "proj/none")
	link("home/.ssh/known_hosts", "proj/known_hosts")
	if k.outOfReach("gpg", gpg) == nil || k.outOfReach("gh", gh) == nil {
		t.Error("settings in the project are read outside")
	}
	if k, trusted = look(); trusted != nil || k.agent.Known.Knows(host) {
		t.Errorf("known hosts of the project count: %v", trusted)
	}
	link("home/.ssh/id.pub", "proj/f")
	if _, trusted = look(); trusted == nil || !strings.Contains(trusted.Error(), "which key is lent") {
		t.Errorf("a public key of the project: %v", trusted)
	}
}

// TestYoursTooOften: after so many requests there are few a second.
func TestYoursTooOften(t *testing.T) {
	p := &Prepared{facts: newFacts(), Policy: effective(t, t.TempDir())}
	k := &keyring{p: p, slots: make(chan struct{}, 1), ctx: t.Context(), ready: make(chan struct{})}
	attend := func() error {
		a, b := net.Pipe()
		defer a.Close()
		from := &io.LimitedReader{R: bytes.NewReader(nil)}
		_, err := k.attend(b, bufio.NewReader(from), from, inside.Request{Operation: inside.OpToken}, new(inside.Reply))
		return err
	}
	if err := attend(); err == nil || strings.Contains(err.Error(), "are too many") {
		t.Errorf("the first: %v", err)
	}
	for range 10_000 {
		_ = k.rate.Spend()
	}
	if err := attend(); err == nil || !strings.Contains(err.Error(), "are too many") {
		t.Errorf("the last: %v", err)
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
