//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestIsolationIsDemanded: a weaker backend is refused before anything is started, a project's file demands too,
// and explain and the audit log say which isolation there is.
func TestIsolationIsDemanded(t *testing.T) {
	t.Parallel()
	w := bareWorld(t, ordinary(t))
	w.write(w.base+"/ceiling.yaml", "isolation: kernel\n")
	for want, flags := range map[string][]string{
		"backend process is weaker than isolation kernel":          {"--isolation", "kernel", "--backend", "process"},
		"backend gvisor is weaker than isolation vm (--isolation)": {"--isolation", "vm", "--backend", "gvisor"},
		"allows gvisor or vm or lima":                              {"--permissions", w.base + "/ceiling.yaml", "--backend", "process"},
		"backend vm":                                               {"--isolation", "vm"}, // there is no image of a machine
	} {
		r := w.run(append(flags, "--", "touch", "started")...)
		if r.code != 125 || !strings.Contains(r.err, want) {
			t.Errorf("%q: %s", flags, r)
		}
	}
	if r := w.run("--isolation", "process", "--", "touch", "walls"); r.code != 0 {
		t.Errorf("%s", r)
	}
	if r := w.carrel("explain", "--json"); r.code != 0 || !strings.Contains(r.out, `"isolation"`) {
		t.Errorf("explain: %s", r)
	}
	w.write(w.project+"/.carrel.yaml", "isolation: vm\n")
	if r := w.run("--", "touch", "started"); r.code != 125 || !strings.Contains(r.err, "backend vm") {
		t.Errorf("by the project: %s", r)
	}
	w.write(w.project+"/.carrel.yaml", "")
	s := w.stays("dev", "--display", "none")
	if got := s.events()[0]; got.Kind != "workspace_start" || got.Text != "isolation process (backend process)" {
		t.Errorf("the first event: %+v", got)
	}
	for _, words := range [][]string{{"status", "dev", "--json"}, {"ps", "--json"}, {"list", "--json"}} {
		if r := w.carrel(words...); !strings.Contains(r.out, `"isolation": "process"`) || !strings.Contains(r.out, `"backend": "process"`) {
			t.Errorf("%q: %s", words, r)
		}
	}
	if exists(w.project+"/started") || !exists(w.project+"/walls") {
		t.Error("the wrong ones were started")
	}
}

// TestClientsDemandIsolation: clients of MCP and JSON Lines demand an isolation, get one that is
// demanded elsewhere whatever they ask for, and are told which it is.
func TestClientsDemandIsolation(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, person{"root", 0, 0})
	mcp, lines := w.mcp("--display", "none"), w.stdio("--working-dir", w.project)
	for _, c := range []struct{ project, asked, backend, isolation string }{
		{"", "process", "process", "process"}, {"", "kernel", "gvisor", "kernel"}, {"isolation: kernel\n", "process", "gvisor", "kernel"},
	} {
		w.write(w.project+"/.carrel.yaml", c.project)
		mcp.does("workspace_start", args{"name": "desk", "display": "none", "isolation": c.asked})
		told := mcp.does("workspace_status", args{"name": "desk"}).Structured["status"].(map[string]any)
		started := lines.do("session.start", args{"carrel.isolation": c.asked})
		status := lines.do("session.status", nil)
		for who, got := range map[string]map[string]any{"MCP": told, "session.start": started, "session.status": status} {
			if got["backend"] != c.backend || got["isolation"] != c.isolation {
				t.Errorf("%+v: %s tells %v", c, who, got)
			}
		}
		mcp.does("workspace_stop", args{"name": "desk"})
		lines.do("session.stop", nil)
	}
	lines.refused("invalid_field carrel.isolation", "session.start", args{"carrel.isolation": "none"})
	if r := mcp.tool("workspace_start", args{"name": "desk", "display": "none", "isolation": "none"}); !r.IsError {
		t.Errorf("MCP takes none: %s", r.text())
	}
}

// TestHostCommandsUnderIsolation: what a person or a project demands is of the workspace's programs. A
// ceiling's demand holds for host commands too, unless it lists them.
func TestHostCommandsUnderIsolation(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, person{"root", 0, 0})
	call := []string{"--", "sh", "-c", "hx -c 'test -e " + w.home + "/tools/hx && echo ran > from-host'; cat from-host"}
	for name, c := range map[string]struct {
		user, project, ceiling string
		refused                bool
	}{
		"none":            {},
		"the user":        {user: "isolation: kernel\n"},
		"the project":     {project: "isolation: kernel\n"},
		"a ceiling":       {ceiling: "isolation: kernel\n", refused: true},
		"one with a list": {ceiling: "isolation: kernel\nhost_commands: [hx]\n"},
		"one for walls":   {ceiling: "isolation: process\n"},
	} {
		w.hostCommands("- hx\n" + c.user)
		w.write(w.project+"/.carrel.yaml", c.project)
		flags := call
		if c.ceiling != "" {
			flags = append([]string{"--permissions", w.write(w.base+"/ceiling.yaml", c.ceiling)}, call...)
		}
		r := w.run(flags...)
		if ran := r.out == "ran\n"; ran == c.refused {
			t.Errorf("demanded by %s: %s", name, r)
		}
		if c.refused && !strings.Contains(r.err, "the author of the ceiling can list in its host_commands") {
			t.Errorf("demanded by %s, without a hint: %s", name, r)
		}
		if !c.refused {
			w.must(os.Remove(w.project + "/from-host"))
		}
	}
}
