package guard

import (
	"testing"

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
