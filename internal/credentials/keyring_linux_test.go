package credentials

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// fake is the configuration of a workspace in which what is below some places can be
// written.
func fake(t *testing.T, writable ...string) Config {
	canWrite := func(at string) bool {
		return slices.ContainsFunc(writable, func(w string) bool { return pathname.Within(at, w) })
	}
	return Config{Getenv: os.Getenv, Reach: func() Reach { return Filtered }, Writable: canWrite, WritableBelow: canWrite, Note: t.Logf,
		Deny: func(api.Denial) {}, Withheld: func(string) *api.Denial { return nil }, Record: func(api.AuditRecord) {}}
}

// TestOnlyTheUsersOwn: keys, known hosts and settings that programs inside can write are
// not used, nor is a program that reads such settings started.
func TestOnlyTheUsersOwn(t *testing.T) {
	const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
	home := t.TempDir()
	if err := os.Mkdir(home+"/.ssh", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"known_hosts": "github.com " + line + "\n", "id.pub": line + "\n"} {
		if err := os.WriteFile(home+"/.ssh/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, err := policy.ParseCredentialHost("github.com")
	if err != nil {
		t.Fatal(err)
	}
	look := func(writable ...string) (k *Keyring, trusted error) {
		t.Helper()
		c := fake(t, writable...)
		c.Home, c.Uses = home, []policy.CredentialUse{{Kind: policy.CredentialSSH, Key: home + "/.ssh/id.pub", Hosts: []string{"github.com"}}}
		k, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		return k, k.CheckTrust()
	}
	settings := []string{home + "/.gnupg", home + "/.config/gh"}
	if k, trusted := look(); trusted != nil || !k.agent.Known.Knows(host) || k.c.outOfReach("gpg", settings) != nil {
		t.Fatalf("the user's own: %v", trusted)
	}
	if k, _ := look(home + "/.config"); k.c.outOfReach("gh", settings) == nil {
		t.Error("settings that are written inside are read outside")
	}
	if k, trusted := look(home + "/.ssh/known_hosts"); trusted != nil || k.agent.Known.Knows(host) {
		t.Errorf("known hosts that are written inside count: %v", trusted)
	}
	if _, trusted := look(home + "/.ssh/id.pub"); trusted == nil || !strings.Contains(trusted.Error(), "which key is lent") {
		t.Errorf("a public key that is written inside: %v", trusted)
	}
}

// TestTooOften: after so many requests there are few a second.
func TestTooOften(t *testing.T) {
	k := &Keyring{c: fake(t), slots: make(chan struct{}, 1), ctx: t.Context(), ready: make(chan struct{})}
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

// TestStalled: who announces bytes and sends none holds no slot.
func TestStalled(t *testing.T) {
	k := &Keyring{c: fake(t), slots: make(chan struct{}, 1), ctx: t.Context(), ready: make(chan struct{})}
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

// TestGone: what a program asked for is given up when it has gone.
func TestGone(t *testing.T) {
	k := &Keyring{c: fake(t), slots: make(chan struct{}, 1), ctx: context.Background(), ready: make(chan struct{}), // never answered
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
