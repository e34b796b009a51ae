package decide

import (
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/policy"
)

func effective(t testing.TB, project string, files ...policy.FileRequest) *policy.Effective {
	t.Helper()
	eff, err := policy.Decide(policy.Scope{Cwd: project, Project: project, Home: "/nohome", Tmp: "/tmp"}, nil,
		[]policy.Layer{policy.Defaults(policy.Agent), {Kind: policy.LayerCommandLine, Request: policy.Request{Files: files}}})
	if err != nil {
		t.Fatal(err)
	}
	return eff
}

func tree(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		full := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
