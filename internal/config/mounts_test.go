package config

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func TestExtraMounts(t *testing.T) {
	text := "extra_mounts:\n- ~/notes\n- /data/\n- host_path: ~/shared\n  guest_path: /mnt/shared\n  writable: true\n- {guest_path: '~/x/', host_path: /y}\n- !!binary L2RhdGEv/w==\n"
	for _, kind := range []Kind{KindUser, KindOperator} {
		r, problems := decodeFile([]byte(text), "f", kind, Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for i, m := range r.mounts {
			f := r.request.Files[i]
			if f.Place != m.Host || (f.Access == policy.Write) != m.Write || f.Source != m.Source {
				t.Errorf("mount %+v asks for %+v", m, f)
			}
			got = append(got, fmt.Sprintf("%d: %s at %s %v", m.Source.Line, m.Host, m.Workspace, m.Write))
		}
		want := "2: ~/notes at ~/notes false, 3: /data at /data false, 4: ~/shared at /mnt/shared true, 7: /y at ~/x false, 8: /data/\xff at /data/\xff false"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\n got %s\nwant %s", kind, s, want)
		}
	}
	r, problems := decodeFile([]byte("# by the repository\nextra_mounts: [~/notes, {}]"), "f", KindProject, Options{})
	if len(problems) > 0 || len(r.mounts)+len(r.request.Files) > 0 || len(r.warnings) != 1 ||
		r.warnings[0].Source.String() != "f:2:1: extra_mounts" || !strings.Contains(r.warnings[0].Message, "belongs to the user") {
		t.Errorf("of a project: %v %+v", problems, r)
	}
}

func TestExtraMountsWrong(t *testing.T) {
	many := "extra_mounts:\n"
	for i := range maxMounts + 1 {
		many += fmt.Sprintf("- /m/%d\n", i)
	}
	for text, want := range map[string]string{
		"extra_mounts: ~/x":                                "want a list",
		"extra_mounts:":                                    "nothing stands here",
		"extra_mounts: [5]":                                "f:1:16: extra_mounts: want text, got the number 5",
		"extra_mounts: [[/x]]":                             "want text or a mapping, got a list",
		"extra_mounts: [x]":                                `"x" is neither an absolute path nor one in ~`,
		"extra_mounts: ['']":                               `"" is neither`,
		"extra_mounts: [~ada/x]":                           "neither an absolute path",
		"extra_mounts: [$HOME/x]":                          "neither an absolute path",
		"extra_mounts: [/a/../b]":                          "has .. in it",
		"extra_mounts: [\"/a\\0\"]":                        "NUL",
		"extra_mounts: [{}]":                               "the key host_path is missing",
		"extra_mounts: [{guest_path: /x}, {writable: no}]": "host_path is missing",
		"extra_mounts: [{host_path: /x, guest_path: y}]":   "f:1:44: extra_mounts.guest_path",
		"extra_mounts: [{host_path: /x, writable: 'yes'}]": "want true or false",
		"extra_mounts: [{host_path: /x, mode: read_only}]": `unknown key "mode" in extra_mounts`,
		"extra_mounts: [/x, /x]":                           `"/x" is the place of another mount too, in line 1`,
		"extra_mounts: [{host_path: /x, guest_path: /z}, {host_path: /y, guest_path: /z}]": `"/z" is the place of another mount too`,
		"extra_mounts: [/x, {host_path: /x, guest_path: /z, writable: true}]":              `"/x" has another mode in line 1`,
		"presets: {p: {extra_mounts: [/x]}}":                                               `unknown key "extra_mounts"`,
		many:                                                                               "more than 256 mounts",
	} {
		r, problems := decodeFile([]byte(text), "f", KindUser, Options{})
		if len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", text, problems, want)
		}
		if len(r.mounts)+len(r.request.Files) > 0 {
			t.Errorf("%.80q gives %+v", text, r)
		}
	}
}
