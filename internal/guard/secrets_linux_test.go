package guard

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/policy"
)

// TestHiddenFileIsOnlyRemoved: the broker sees a hidden file below its mask. Of all that
// can be done with one, it lets only its removal pass.
func TestHiddenFileIsOnlyRemoved(t *testing.T) {
	dir := t.TempDir()
	secret, other := dir+"/api/.env", dir+"/denied"
	layer := policy.Defaults(policy.Agent)
	for _, at := range []string{secret, other} {
		layer.Request.Files = append(layer.Request.Files, policy.FileRequest{Place: at, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "secret: environment file of the project"}})
	}
	eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{layer})
	if err != nil {
		t.Fatal(err)
	}
	for _, strict := range []bool{false, true} {
		d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}, Secrets: []string{secret}, Strict: strict})
		allowed := func(op string, at, to string) bool {
			return d.Decide(&broker.Change{Op: op, Path: at, To: to, Kind: broker.KindFile, Dir: -1, ToDir: -1}).Allowed
		}
		for _, op := range []string{
			broker.OpRead, broker.OpOpen, broker.OpTruncate, broker.OpCreate, broker.OpChmod, broker.OpChown, broker.OpUtimes,
			broker.OpSetxattr, broker.OpIoctl, broker.OpMkdir, broker.OpRmdir, broker.OpSymlink,
		} {
			if allowed(op, secret, "") {
				t.Errorf("strict %v: %s passes", strict, op)
			}
		}
		for _, op := range []string{broker.OpLink, broker.OpRename, broker.OpExchange} {
			if allowed(op, secret, dir+"/x") || allowed(op, dir+"/x", secret) {
				t.Errorf("strict %v: %s passes", strict, op)
			}
		}
		if d.Decide(&broker.Change{Op: broker.OpRename, Path: dir + "/api", To: dir + "/x", Kind: broker.KindDir, Dir: -1, ToDir: -1}).Allowed {
			t.Errorf("strict %v: its directory can be renamed", strict)
		}
		if !allowed(broker.OpUnlink, secret, "") {
			t.Errorf("strict %v: it cannot be removed", strict)
		}
		if allowed(broker.OpUnlink, other, "") {
			t.Errorf("strict %v: what is denied otherwise can be removed", strict)
		}
	}
}

// TestUnfinishedFileIsNoFile: with secrets strict a file of which the content decides is
// refused while a program outside may still write its secret: where it is empty and new, and
// where its name says that it is not finished.
func TestUnfinishedFileIsNoFile(t *testing.T) {
	const begun, whole = "[core]\n\tbare = false\n", "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://h/x\n"
	dir := t.TempDir()
	eff, err := policy.Decide(policy.Scope{Cwd: dir, Project: dir, Home: "/nohome", Tmp: "/tmp"}, nil, []policy.Layer{policy.Defaults(policy.Agent)})
	if err != nil {
		t.Fatal(err)
	}
	git := filepath.Join(dir, ".git")
	if err := os.Mkdir(git, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name, content string
		inside, opens bool
	}{
		{"config", whole, false, true},
		{"config", "", false, false},
		{"config.lock", "", false, false},
		{"config.lock", begun, false, false},
		{"config.lock", whole, false, false},
		{"config.lock", begun, true, true},
		{"index.lock", begun, false, true}, // no content of it is a secret
	} {
		at := filepath.Join(git, c.name)
		if err := os.WriteFile(at, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, old, old); err != nil {
			t.Fatal(err)
		}
		pinned, err := os.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		d := New(Config{Policy: eff, Project: dir, Roots: []string{dir}, Strict: true,
			MadeInside: func(string, broker.Inode) bool { return c.inside }})
		v := d.Decide(&broker.Change{Op: broker.OpRead, Path: at, Kind: broker.KindFile, Pinned: int(pinned.Fd()), Dir: -1, ToDir: -1})
		pinned.Close()
		if v.Allowed != c.opens {
			t.Errorf("%s with %q, made inside %v: opens %v, want %v", c.name, c.content, c.inside, v.Allowed, c.opens)
		}
	}
}
