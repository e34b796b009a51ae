//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestMCPConflictNamesPaths: what stands against an undo is told by its path, and what can
// be done about it in parameters of the tool.
func TestMCPConflictNamesPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("write_file", args{"path": "a.txt", "content": "one\n"})
	w.write(w.project+"/a.txt", "by the person\n")
	r := c.refuses("conflict", "undo", args{})
	for _, want := range []string{w.project + "/a.txt: ", "force: true", "keep_both"} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("the conflict has no %q: %s", want, r.text())
		}
	}
	if strings.Contains(r.text(), "--") {
		t.Errorf("flags: %s", r.text())
	}
	c.does("undo", args{"conflicts": "skip"})
	if got := w.read(w.project + "/a.txt"); got != "by the person\n" {
		t.Errorf("%q", got)
	}
}

// TestMCPEditsAlone: several edits need nothing beside them.
func TestMCPEditsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	w.write(w.project+"/a.txt", "one two three\n")
	c.does("edit_file", args{"path": "a.txt", "edits": []args{{"old_string": "one", "new_string": "1"}, {"old_string": "three",
		"new_string": "3"}}})
	if got := w.read(w.project + "/a.txt"); got != "1 two 3\n" {
		t.Errorf("%q", got)
	}
}

// TestMCPProfileValidate: a profile that is right is told so, and nothing is saved.
func TestMCPProfileValidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none", "--toolsets", "profiles,compat")
	if r := c.does("profile_read", args{"action": "validate",
		"profile": "description: x\n"}); len(r.Structured["profile"].(map[string]any)) == 0 {
		t.Errorf("valid: %s", r.text())
	}
	if r := c.tool("profile_read", args{"action": "validate", "profile": "nothing: x\n"}); !r.IsError ||
		!strings.Contains(r.text(), "nothing") {
		t.Errorf("a wrong one: %s", r.text())
	}
	if r := c.does("profile_read", args{"action": "list"}); strings.Contains(r.text(), "checked") {
		t.Errorf("saved: %s", r.text())
	}
}

// TestMCPComputerShapes: the action comes with its fields beside it, or as one object; and
// zoom shows a part of the screen in its own pixels.
func TestMCPComputerShapes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	c := w.mcp()
	for _, shape := range []args{
		{"action": "mouse_move", "coordinate": []int{30, 40}}, {"action": args{"action": "mouse_move", "coordinate": []int{30, 40}}},
		{"action": "mouse_move", "coordinate": []int{30, 40}, "version": "computer_20251124"},
	} {
		c.does("computer", args{"action": "mouse_move", "coordinate": []int{5, 5}})
		c.does("computer", shape)
		if r := c.does("computer", args{"action": "cursor_position"}); !strings.Contains(r.text(), "X=30,Y=40") {
			t.Errorf("%v: %s", shape, r.text())
		}
	}
	r := c.does("computer", args{"action": "zoom", "region": []int{10, 20, 110, 70}})
	p, _ := r.Structured["picture"].(map[string]any)
	area, _ := p["area"].([]any) // of the screen, which has more pixels than a whole picture
	if len(r.Content) == 0 || r.Content[0].Type != "image" || len(area) != 4 || p["width"] != area[2] || area[2].(float64) < 100 ||
		area[3].(float64) >= area[2].(float64) {
		t.Errorf("zoom: %v", r.Structured)
	}
	for _, wrong := range []args{{"action": "fly"}, {"action": args{"action": "screenshot"}, "text": "x"}, {"action": "zoom",
		"region": []int{0, 0, 9000, 10}}, {"action": "zoom", "region": []int{0, 0, 10, 10}, "version": "20250124"}} {
		if r := c.tool("computer", wrong); !r.IsError {
			t.Errorf("%v: %s", wrong, r.text())
		}
	}
}
