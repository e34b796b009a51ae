package agenthome

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/agents"
	"carrel/internal/statedir"
)

// TestConversation: the transcript that was written last counts, and nothing that a
// program inside may have put there instead of one.
func TestConversation(t *testing.T) {
	agent, ok := agents.ByCommand("claude")
	if !ok {
		t.Fatal("no such agent")
	}
	h := &Home{Options: Options{Agent: agent, Project: "/p", State: statedir.At(t.TempDir())}}
	dir := filepath.Join(h.private(), ".claude/projects/-p")
	start := time.Now().Add(-time.Minute)
	put := func(name string, at time.Time) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.Conversation(start); got != "" {
		t.Errorf("without a copy: %q", got)
	}
	const (
		older = "00000000-1111-2222-3333-444444444444"
		one   = "00000001-1111-2222-3333-444444444444"
		two   = "00000002-1111-2222-3333-444444444444"
	)
	put(older+".jsonl", start.Add(-time.Second))
	if got := h.Conversation(start); got != "" {
		t.Errorf("of an earlier run: %q", got)
	}
	put(one+".jsonl", start.Add(2*time.Second))
	put(two+".jsonl", start.Add(time.Second))
	put("agent-01234567.jsonl", start.Add(3*time.Second))
	put("$(evil)-"+two+".jsonl", start.Add(3*time.Second))
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "00000003-1111-2222-3333-444444444444.jsonl")); err != nil {
		t.Fatal(err)
	}
	if got := h.Conversation(start); got != one {
		t.Errorf("got %q, want %q", got, one)
	}
	if h.Shared = true; h.Conversation(start) != "" {
		t.Error("a shared home is known outside")
	}
	if h.Shared = false; os.RemoveAll(dir) != nil || os.Symlink(t.TempDir(), dir) != nil {
		t.Fatal("the copy cannot be changed")
	}
	if got := h.Conversation(start); got != "" {
		t.Errorf("by a link that leads out: %q", got)
	}
}
