//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDoctorOfMachines: doctor says of a host which parts of backend lima are there, in the
// words of a run that would fail for want of one, and nothing where no machine is asked for.
func TestDoctorOfMachines(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	settings := u.home + "/.config/carrel/config.yaml"
	diagnose := func(text string) *diagnosis {
		t.Helper()
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := u.command(u.project, "doctor", "--json")
		cmd.SysProcAttr.AmbientCaps = nil
		out, err := cmd.Output()
		d := new(diagnosis)
		if json.Unmarshal(out, d) != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return d
	}
	image := u.home + "/debian.qcow2"
	config := "backend: lima\nlima: {image: " + image + "}\n"
	d := diagnose(config)
	if c := d.about("lima"); c.Status != "ok" || c.Found != "limactl 1.2.2: "+u.home+"/bin/limactl" {
		t.Errorf("limactl: %+v", c)
	}
	if c := d.about("lima-relay"); c.Status != "ok" {
		t.Errorf("the relay: %+v", c)
	}
	if c := d.about("lima-image"); c.Status != "missing" || c.Cause != "no-image" || !strings.Contains(c.Found, image) || c.Needed {
		t.Errorf("an image that is not there: %+v", c)
	}
	if err := os.WriteFile(image, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if c := diagnose(config).about("lima-image"); c.Status != "ok" || c.Found != image {
		t.Errorf("an image that is there: %+v", c)
	}
	without := "lima: {cpus: 2}\n"
	c := diagnose(without).about("lima-image")
	if c.Status != "missing" || c.Fix == "" {
		t.Errorf("no image is named: %+v", c)
	}
	run, err := u.carrel("run", "--backend", "lima", "--", "true")
	if err == nil || !strings.Contains(run, c.Found) || !strings.Contains(run, c.Fix) {
		t.Errorf("a run says other things than %q, %q: %v: %s", c.Found, c.Fix, err, run)
	}
	if err := os.Remove(u.home + "/bin/limactl"); err != nil {
		t.Fatal(err)
	}
	if c := diagnose(config).about("lima"); c.Status != "missing" || c.Cause != "not-installed" || !strings.Contains(c.Fix, "install Lima") {
		t.Errorf("no limactl: %+v", c)
	}
	if c := diagnose("presets: []\n").about("lima"); c.ID != "" {
		t.Errorf("no machine is asked for: %+v", c)
	}
}
