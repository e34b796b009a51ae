package decisioncmd

import (
	"fmt"
	"testing"

	"carrel/internal/api"
)

// TestWithoutRepeats: hidden files are told once for each project and set, by the newest record.
func TestWithoutRepeats(t *testing.T) {
	var list []api.Denial
	for i, d := range []struct{ code, project, subject string }{
		{api.CodeHidden, "/a", ".env"}, {api.CodeFile, "/a", ".env"}, {api.CodeHidden, "/b", ".env"}, {api.CodeFile, "/a", ".env"},
		{api.CodeHidden, "/a", ".env"}, {api.CodeHidden, "/a", ".env, x"}, {api.CodeHidden, "/a", ".env"},
	} {
		list = append(list, api.Denial{Code: d.code, Project: d.project, Subject: d.subject, Workspace: fmt.Sprint(i)})
	}
	var left string
	for _, d := range withoutRepeats(list) {
		left += d.Workspace
	}
	if left != "12356" {
		t.Errorf("left: %s", left)
	}
	if got := withoutRepeats(nil); len(got) != 0 {
		t.Error(got)
	}
}
