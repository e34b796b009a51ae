//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestAppArmorProfile: the parser takes the profile, for the path and for no
// other name. Parsers before 4.0, which Debian 12 has, know neither the rule for
// user namespaces nor the flag; for these both are taken out first, so that the
// rest is still read by the real parser. No kernel with AppArmor is asked.
func TestAppArmorProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("apparmor_parser")
	for _, path := range []string{"/usr/local/bin/carrel", w.bin, "/opt/with space/a,b:c=d/carrel-1.2+3"} {
		r := w.carrel("doctor", "--print-apparmor", "--path", path)
		if r.code != 0 || !strings.Contains(r.out, `"`+path+`"`) {
			t.Fatalf("%s", r)
		}
		profile := r.out
		if v := w.plain("apparmor_parser", "--version"); strings.Contains(v.out, "version 3.") || strings.Contains(v.out, "version 2.") {
			for _, newer := range []string{"abi <abi/4.0>,\n", "  userns,\n", " flags=(unconfined)"} {
				if !strings.Contains(profile, newer) {
					t.Errorf("no %q in\n%s", newer, profile)
				}
				profile = strings.Replace(profile, newer, "", 1)
			}
		}
		file := w.write(w.outside+"/profile", profile)
		if r := w.plain("apparmor_parser", "--skip-kernel-load", "--skip-cache", file); r.code != 0 {
			t.Errorf("%q: %s\n%s", path, r, profile)
		}
		if r := w.plain("apparmor_parser", "--names", file); strings.TrimSpace(r.out) != "carrel" {
			t.Errorf("%q: profiles %q", path, r.out)
		}
		broken := w.write(w.outside+"/broken", strings.Replace(profile, `"`+path+`"`, `"`+path, 1))
		if r := w.plain("apparmor_parser", "--skip-kernel-load", "--skip-cache", broken); r.code == 0 {
			t.Errorf("canary: the parser takes anything: %s", r)
		}
	}
	for _, path := range []string{"/a\" {\n}\nprofile x /** {", "/a*", "/@{HOME}/carrel", "/a\\b", "carrel", ""} {
		if r := w.carrel("doctor", "--print-apparmor", "--path", path); path != "" && (r.code != 125 || r.out != "") {
			t.Errorf("%q: %s", path, r)
		}
	}
	link := w.outside + "/link"
	w.symlink(w.bin, link)
	if r := w.carrel("doctor", "--print-apparmor", "--path", link); !strings.Contains(r.out, `"`+w.bin+`"`) {
		t.Errorf("a link is not followed, though AppArmor sees the file: %s", r)
	}
}
