package mcpserver

import (
	"testing"

	"carrel/internal/op/historyop"
)

// TestUndoIsAskedFor: what the parameters of undo mean, and which of them stand against each other.
func TestUndoIsAskedFor(t *testing.T) {
	tool := define(Tool{Name: "undo"}, undo)
	c := &call{server: &Server{opts: Options{Project: "/p", Roots: []string{"/q"}}}, tool: &tool}
	for _, one := range []struct {
		in   undoIn
		mode historyop.Mode
		path string
	}{
		{undoIn{}, historyop.Abort, ""}, {undoIn{Path: "a/../b"}, historyop.Abort, "/p/b"},
		{undoIn{Path: "/q/b", Force: true}, historyop.Force, "/q/b"},
		{undoIn{Conflicts: "keep_both"}, historyop.KeepBoth, ""}, {undoIn{Conflicts: "skip"}, historyop.Skip, ""},
	} {
		req, err := c.undoRequest(one.in, true, true)
		if err != nil || req.Mode != one.mode || !req.Redo || !req.DryRun || len(req.Write) != 1 || len(req.Paths) != min(len(one.path), 1) ||
			one.path != "" && req.Paths[0] != one.path {
			t.Errorf("%+v: %+v, %v", one.in, req, err)
		}
	}
	for _, in := range []undoIn{{Count: -1}, {Force: true, Conflicts: "skip"}, {Force: true, Conflicts: "keep_both"}} {
		if req, err := c.undoRequest(in, false, false); err == nil || req.Mode != historyop.Abort {
			t.Errorf("%+v: %+v, %v", in, req, err)
		}
	}
}
