package profileop

import (
	"slices"
	"strings"
	"testing"
)

// TestCheck: a profile is decided as its start does it, with each of its commands, and
// programs that are not here are named.
func TestCheck(t *testing.T) {
	c := caller(t, "")
	put := func(name, text string) {
		t.Helper()
		if _, err := Put(c, SaveRequest{Name: name, Text: []byte(text), From: "test", Replace: true}); err != nil {
			t.Fatal(err)
		}
	}
	put("dev", "network: local\nenv:\n  TOKEN: s3cret\nsetup:\n  - name: first\n    command: [sh, -c, 'true']\n    timeout: 1m\n"+
		"apps:\n  - name: web\n    command: [no-such-program]\n")
	got, err := Check(c, "dev")
	if err != nil {
		t.Fatal(err)
	}
	p := got.Profile
	if len(p.Setup) != 1 || p.Setup[0].Timeout != "1m0s" || p.Apps[0].Name != "web" || p.Env[0].Value != nil {
		t.Errorf("%+v", p)
	}
	if len(got.Missing) != 1 || got.Missing[0] != "no-such-program" {
		t.Errorf("missing: %q", got.Missing)
	}
	if _, err := Check(c, "absent"); err == nil || !strings.Contains(err.Error(), "profile list") {
		t.Errorf("%v", err)
	}
	list, err := List(c)
	if err != nil || len(list) != 1 || list[0].Setup != 1 || list[0].Apps != 1 || list[0].Network != "local" || list[0].Error != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestMounts: a directory is shown as the profile says.
func TestMounts(t *testing.T) {
	c := caller(t, "")
	text := "mounts:\n  - host_path: " + c.Dir + "\n    workspace_path: /data\n    mode: read_write\n  - host_path: /usr/share" +
		"\n    workspace_path: /docs\n    mode: read_only\nsize:\n  width: 800\n  height: 600\n"
	if problems, err := Validate([]byte(text), "test"); err != nil || len(problems) > 0 {
		t.Fatalf("%+v, %v", problems, err)
	}
	if _, err := Put(c, SaveRequest{Name: "m", Text: []byte(text), From: "test"}); err != nil {
		t.Fatal(err)
	}
	got, err := Show(c, "m", false)
	if err != nil || got.Width != 800 || got.Height != 600 || len(got.Mounts) != 2 ||
		got.Mounts[0].Mode != "read_write" || got.Mounts[1].Mode != "read_only" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestValidate: each mistake is named with its place, and neither a mistake nor a foreign
// profile is an error of the looking.
func TestValidate(t *testing.T) {
	problems, err := Validate([]byte("network: wide\nnonsense: 1\nsize: large\n"), "standard input")
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if err != nil || !slices.Equal(lines, []int{1, 2, 3}) {
		t.Errorf("%+v, %v", problems, err)
	}
	if problems, err := Validate([]byte(`{"id": "theirs", "width": 800, "height": 600}`), "standard input"); err != nil || len(problems) > 0 {
		t.Errorf("%+v, %v", problems, err)
	}
}

// TestImportSeveral: several profiles are saved under their own names, all of them or none.
func TestImportSeveral(t *testing.T) {
	c := caller(t, "")
	two := `{"profiles": [{"id": "one"}, {"id": "two"}]}`
	_, _, err := Import(c, SaveRequest{Name: "mine", Text: []byte(two), From: "file"})
	if err == nil || !strings.Contains(err.Error(), "2 profiles") {
		t.Errorf("%v", err)
	}
	saved, _, err := Import(c, SaveRequest{Text: []byte(two), From: "file"})
	if err != nil || len(saved) != 2 || saved[0].Name != "one" || saved[1].Name != "two" {
		t.Errorf("%+v, %v", saved, err)
	}
	if _, _, err := Import(c, SaveRequest{Text: []byte(`{"profiles": [{"id": "three"}, {"id": "one"}]}`), From: "file"}); err == nil {
		t.Error("one of two is there already")
	}
	if list, err := List(c); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, _, err = Import(c, SaveRequest{Text: []byte(shop), From: "standard input"}); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("a text without a name: %v", err)
	}
}
