//go:build unix

package agents

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An npm installation of codex and a project, on disk.
func TestOSHost(t *testing.T) {
	s := newSides(t)
	root := filepath.Dir(s.places.HostHome)
	s.write(root, "lib/node_modules/@openai/codex/package.json", `{"name":"@openai/codex"}`)
	s.write(root, "lib/node_modules/@openai/codex/bin/package.json", `{"type":"module"}`)
	s.write(root, "lib/node_modules/@openai/codex/bin/codex.js", "#!/usr/bin/env node\n")
	s.write(root, "bin/node", "\x7fELF")
	s.write(root, "bin/env", "\x7fELF")
	s.write(root, "bin/notes", "not executable")
	s.link(root, "../lib/node_modules/@openai/codex/bin/codex.js", "bin/codex")
	s.write(root, "home/project/codex", "#!/bin/sh\n")
	for _, file := range []string{"bin/node", "bin/env", "bin/codex", "home/project/codex"} {
		if err := os.Chmod(filepath.Join(root, file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	project := filepath.Join(root, "home/project")
	host := OSHost(project, s.places.HostHome, project, filepath.Join(root, "bin"), nil)
	script := filepath.Join(root, "lib/node_modules/@openai/codex/bin/codex.js")
	for _, argv := range [][]string{{"codex"}, {"env", "A=B", "codex"}, {"node", script}, {filepath.Join(root, "bin/codex")}} {
		got, ok := Recognise(argv, host)
		if !ok || got.Agent.Name != "codex" || got.Executable != script || got.Index != len(argv) {
			t.Errorf("%q: got %q, %q, %d, %v", argv, got.Agent.Name, got.Executable, got.Index, ok)
		}
	}
	for _, argv := range [][]string{{"./codex"}, {"notes"}, {"missing"}} {
		if got, ok := Recognise(argv, host); ok {
			t.Errorf("%q: recognised as %q", argv, got.Agent.Name)
		}
	}
	// The project's directory first in PATH, absolute and as an empty entry.
	for _, first := range []string{project, "", "."} {
		host := OSHost(project, s.places.HostHome, project, first+":"+filepath.Join(root, "bin"), nil)
		if got, ok := Recognise([]string{"codex"}, host); ok {
			t.Errorf("PATH begins with %q: recognised as %q", first, got.Agent.Name)
		}
	}
}

func TestReadHead(t *testing.T) {
	s := newSides(t)
	s.host("x", "0123456789")
	if text, err := readHead(filepath.Join(s.places.HostHome, "x"), 4); err != nil || string(text) != "0123" {
		t.Errorf("got %q, %v", text, err)
	}
	fifo := filepath.Join(s.places.HostHome, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{fifo, s.places.HostHome, "/nowhere"} {
		if _, err := readHead(file, 4); err == nil {
			t.Errorf("%q was read", file)
		}
	}
}
