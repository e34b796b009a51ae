package reviewop

import (
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/review"
	"carrel/internal/tools"
)

// TestReportIsHostile: what a program inside says of the changes is bounded, and names no directory
// that there is not.
func TestReportIsHostile(t *testing.T) {
	r := &Reviews{}
	l := &review.Layer{Meta: review.Meta{Trees: []api.Text{"/p"}}}
	for text, want := range map[string]string{
		`{"done":1}`: "", `{"done":1,"failed":[{"tree":0,"path":"YQ==","code":13,"why":"permission denied"}]}`: "",
		``: "reading", `{`: "reading", `{"done":1}{}`: "reading", `{"else":1}`: "reading", `{"done":1,"done":2}`: "reading",
		`{"done":0,"failed":[{"tree":1,"path":"YQ==","why":"x"}]}`:  "there is not",
		`{"done":0,"failed":[{"tree":-1,"path":"YQ==","why":"x"}]}`: "there is not",
	} {
		var out Applied
		err := r.report(l, &tools.Output{Head: []byte(text)}, &out)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if strings.Contains(text, "code") && (len(out.Failed) != 1 || out.Failed[0].Path != "/p/a" || !strings.Contains(out.Failed[0].Why,
			"policy refuses")) {
			t.Errorf("%s: %+v", text, out.Failed)
		}
	}
	if err := r.report(l, &tools.Output{Head: []byte(`{"done":1}`), Left: 1}, &Applied{}); err == nil {
		t.Error("a part of a report is taken")
	}
}

// TestStates: what a layer is told to be.
func TestStates(t *testing.T) {
	if !IsID("0a1b2c") || IsID("0a1b2") || IsID("src/ab") || IsID("0a1b2c3d") {
		t.Error("ids are told wrongly")
	}
	for k, want := range map[review.Kind]string{review.File: "file", review.Dir: "directory", review.Symlink: "symlink",
		review.Fifo: "fifo", review.Socket: "socket", review.Device: "device"} {
		if got := kindName(k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
