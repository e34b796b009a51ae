package config

import (
	"path/filepath"
	"testing"

	"carrel/internal/policy"
)

// TestAddPresetKeys: what is written is what is read back, whatever its bytes.
func TestAddPresetKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	pids := int64(7)
	err := AddPreset(file, NewPreset{Name: "p", Command: []string{"ls"}, Keys: []PresetKey{
		{Path: []string{"read"}, List: []string{"/a b", "/\xff"}},
		{Path: []string{"network"}, Text: "local"},
		{Path: []string{"history"}, Text: "off"},
		{Path: []string{"environment", "pass"}, List: []string{"TERM"}},
		{Path: []string{"environment", "set", "A"}, Text: "yes"},
		{Path: []string{"resources", "pids"}, Count: &pids},
	}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := readTrusted(file)
	if err != nil {
		t.Fatal(err)
	}
	d, problems := decodeFile(data, file, KindUser, Options{})
	if len(problems) > 0 || len(d.presets) != 1 {
		t.Fatalf("got %+v, %v, from\n%s", d, problems, data)
	}
	r := d.presets[0].Request
	if len(r.Files) != 2 || r.Files[0].Place != "/a b" || r.Files[1].Place != "/\xff" || r.Files[1].Access != policy.Read {
		t.Errorf("files: got %+v", r.Files)
	}
	if r.Network == nil || r.Network.V != policy.NetLocal || r.History.V != policy.HistoryOff || r.History.Source.Layer != policy.LayerProfile || r.EnvPass[0].V != "TERM" || r.EnvSet["A"].V != "yes" || r.Pids.V != 7 {
		t.Errorf("got %+v", r)
	}
}

// TestAddPresetBadKeys: what cannot be read back is not written.
func TestAddPresetBadKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	err := AddPreset(file, NewPreset{Name: "p", Command: []string{"ls"}, Keys: []PresetKey{{Path: []string{"network"}, Text: "wide"}}})
	if len(ProblemsOf(err)) != 1 {
		t.Errorf("got %v, want one problem", err)
	}
	if data, err := readTrusted(file); !absent(err) {
		t.Errorf("the file was written: %q, %v", data, err)
	}
}
