package named

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/audit"
)

// TestRunLogs: the newest come first, and the oldest go where there are too many, but for
// one that is still written.
func TestRunLogs(t *testing.T) {
	state := t.TempDir()
	begin := func(id string) *audit.Log {
		t.Helper()
		dir, err := RunDir(state, id, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dir.Close() })
		log, err := audit.Create(dir, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		log.Append(api.AuditRecord{Kind: api.AuditWorkspace, Operation: "run", Subject: "make " + id,
			Session: &api.AuditSession{ID: id, Project: "/p"}})
		return log
	}
	if list, n, err := RunLogs(state, 5); err != nil || n != 0 || len(list) != 0 {
		t.Errorf("without any: %v, %d, %v", list, n, err)
	}
	running := begin("00")
	defer running.Close()
	for i := range 20 {
		begin(fmt.Sprintf("a%d", i)).Close()
	}
	for i, d := range append([]string{"00"}, ids(20)...) {
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(filepath.Join(state, runsDir, d), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, n, err := RunLogs(state, 2)
	if err != nil || n != 21 || len(list) != 2 || list[0].ID != "a19" || list[0].Command != "make a19" || list[0].Session.Project != "/p" {
		t.Errorf("listed: %+v, %d, %v", list, n, err)
	}
	if err := PruneRuns(state, 21); err != nil {
		t.Error(err)
	}
	if _, n, _ := RunLogs(state, 1); n != 21 {
		t.Errorf("%d are left of as many as may be", n)
	}
	if err := PruneRuns(state, 20); err != nil {
		t.Error(err)
	}
	list, n, _ = RunLogs(state, 100)
	if n != 19 || list[17].ID != "a2" || list[18].ID != "00" {
		t.Errorf("left: %d, %+v", n, list)
	}
}

func ids(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("a%d", i))
	}
	return out
}
