package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestHistoryLimits: a word or a mapping, the user's over the operator's, and
// nothing from a project or in a preset.
func TestHistoryLimits(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Home: dir, ConfigHome: dir, Project: dir + "/project", OperatorFile: dir + "/operator.yaml"}
	files := map[string]string{
		opts.OperatorFile:             "history: {max_bytes: 1GiB, max_total_bytes: 3GiB, max_steps: 7, dir: /operator, ignore: [o]}",
		UserFile(opts):                "history: {mode: off, max_bytes: 2GiB, max_file_bytes: 0, dir: ~/mine, ignore: [u]}",
		dir + "/project/.carrel.yaml": "history: {mode: on, max_bytes: 1TiB, max_total_bytes: 0, max_step_bytes: 1, dir: /project, ignore: [p]}",
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	h := l.Settings.History
	if h.MaxBytes == nil || h.MaxBytes.V != 2<<30 || h.MaxSteps == nil || h.MaxSteps.V != 7 || h.MaxFileBytes == nil || h.MaxFileBytes.V != 0 || h.MaxStepBytes != nil {
		t.Errorf("got %+v", h)
	}
	if h.MaxTotalBytes == nil || h.MaxTotalBytes.V != 3<<30 {
		t.Errorf("of all projects: %+v", h.MaxTotalBytes)
	}
	if h.Dir == nil || h.Dir.V != "~/mine" || len(h.Ignore) != 2 || h.Ignore[0].V != "u" || h.Ignore[1].V != "o" {
		t.Errorf("places: %+v", h)
	}
	if len(l.Warnings) != 5 || !strings.Contains(l.Warnings[0].Message, "belongs to the user") {
		t.Errorf("warnings: %+v", l.Warnings)
	}
	for _, layer := range l.Layers {
		want := map[policy.LayerKind]policy.HistoryMode{policy.LayerUser: policy.HistoryOff, policy.LayerProject: policy.HistoryOn}[layer.Kind]
		if got := layer.Request.History; want != "" && (got == nil || got.V != want) {
			t.Errorf("%s: %+v", layer.Name, got)
		}
	}
	for text, want := range map[string]string{
		"presets: {p: {command: [ls], history: {max_bytes: 1}}}": `unknown key "max_bytes" in presets.p.history`,
		"history: {max_bytes: much}":                             "not a size",
		"history: {max_total_bytes: -1}":                         "not a size",
		"presets: {p: {history: {max_total_bytes: 1}}}":          `unknown key "max_total_bytes" in presets.p.history`,
		"history: {max_steps: -1}":                               "not a whole number",
		"history: {max_files: 1}":                                "did you mean max_bytes",
		"history: {dir: kept}":                                   "not an absolute path",
		"history: {dir: ''}":                                     "the path is empty",
		"history: {dir: ~root/x}":                                "not an absolute path",
		"history: {ignore: ['!a']}":                              "nothing is taken out again",
		"history: {ignore: ['a/../b']}":                          "..",
		"history: {ignore: a}":                                   "want a list",
		"presets: {p: {command: [ls], history: {dir: /x}}}":      `unknown key "dir" in presets.p.history`,
		"history: sometimes":                                     "not one of on, off",
	} {
		_, problems := decodeFile([]byte(text), "f", KindUser, Options{})
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
	if r, problems := decodeFile([]byte("presets: {p: {command: [ls], history: off}}\nhistory: on"), "f", KindUser, Options{}); len(problems) > 0 || r.presets[0].Request.History.V != policy.HistoryOff {
		t.Errorf("a word alone: %v", problems)
	}
}
