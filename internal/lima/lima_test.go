package lima

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what templates should be")

func testSpec() *Spec {
	return &Spec{
		Workspace: "0123abcd", VMType: "qemu", CPUs: 2, MemoryBytes: 2 << 30, DiskBytes: 20 << 30, Network: NetworkClosed,
		Images: []Image{{Location: "https://images.example/debian.qcow2", Arch: "x86_64", Digest: "sha256:" + strings.Repeat("ab", 32)}},
	}
}

// TestTemplate: a template is what it was, and what it must hold.
func TestTemplate(t *testing.T) {
	open := testSpec()
	open.Network, open.VMType, open.CPUs, open.Packages = NetworkOpen, "vz", 4, []string{"git", "python3"}
	open.Images = []Image{{Location: `/home/u/my "image".qcow2`, Arch: "aarch64"}}
	inside := testSpec()
	inside.Network, inside.VMType, inside.Project = NetworkOpen, "vz", `/Users/u/my "project"`
	for name, s := range map[string]*Spec{"closed": testSpec(), "open": open, "inside": inside} {
		text, mark, err := s.Template()
		if err != nil {
			t.Fatal(err)
		}
		at := "testdata/" + name + ".yaml"
		if *update {
			if err := os.WriteFile(at, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(at)
		if err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for _, held := range []string{
			"loadDotSSHPubKeys: false", "forwardAgent: false", "propagateProxyEnv: false", "upgradePackages: false",
			"  system: false\n  user: false\n", mark,
		} {
			if !bytes.Contains(text, []byte(held)) {
				t.Errorf("%s: it lacks %q", name, held)
			}
		}
		for _, closed := range []string{"mounts: []\n", "ignore: true", "plain: true", Agent} {
			if bytes.Contains(text, []byte(closed)) != (s.Project == "") {
				t.Errorf("%s: %q where the project is %q", name, closed, s.Project)
			}
		}
		if bytes.Contains(text, []byte("base:")) || bytes.Contains(text, []byte("policy drop")) != (s.Network == NetworkClosed) {
			t.Errorf("%s: it inherits, or its network is another:\n%s", name, text)
		}
	}
}

// TestMarkTellsTemplatesApart: whatever changes in a machine changes its mark.
func TestMarkTellsTemplatesApart(t *testing.T) {
	_, first, err := testSpec().Template()
	if err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(s *Spec){
		func(s *Spec) { s.CPUs++ }, func(s *Spec) { s.MemoryBytes *= 2 }, func(s *Spec) { s.Network = NetworkOpen },
		func(s *Spec) { s.Images[0].Digest = "" }, func(s *Spec) { s.Packages = []string{"git"} }, func(s *Spec) { s.VMType = "vz" },
	} {
		s := testSpec()
		change(s)
		if _, mark, err := s.Template(); err != nil || mark == first {
			t.Errorf("%d: %v, mark %s", i, err, mark)
		}
	}
}

// TestSpecsThatAreNone: words that would say something else in the template are refused.
func TestSpecsThatAreNone(t *testing.T) {
	for i, change := range []func(s *Spec){
		func(s *Spec) { s.Workspace = "" }, func(s *Spec) { s.Workspace = "a\nb" }, func(s *Spec) { s.Workspace = "../x" },
		func(s *Spec) { s.VMType = "wsl2" }, func(s *Spec) { s.Network = "filtered" }, func(s *Spec) { s.CPUs = 0 },
		func(s *Spec) { s.MemoryBytes = 1 }, func(s *Spec) { s.Images = nil }, func(s *Spec) { s.Images[0].Arch = "riscv" },
		func(s *Spec) { s.Project = "/p" }, func(s *Spec) { s.Network, s.Project = NetworkOpen, "p" },
		func(s *Spec) { s.Network, s.Project = NetworkOpen, "/p\"\nprovision: x" },
		func(s *Spec) { s.Images[0].Location = "a\nprovision: x" }, func(s *Spec) { s.Packages = []string{"git; reboot"} },
	} {
		s := testSpec()
		change(s)
		if _, _, err := s.Template(); err == nil {
			t.Errorf("%d: %+v", i, s)
		}
	}
}

func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"limactl version 1.2.2\n": "1.2.2", "limactl version 2.1.0": "2.1.0", "limactl version v1.0.7-12-gabc\n": "1.0.7",
		"limactl version 0.23.2": "", "": "", "limactl version x.y": "", "something else 1.2": "",
	} {
		if got, err := versionOf(said); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", said, got, err)
		}
	}
}

// TestOnlyOwnMachines: machines of the person are never listed, whatever they are called.
func TestOnlyOwnMachines(t *testing.T) {
	list, err := machinesOf([]byte(`{"name":"default","status":"Running","config":{"env":{}}}
{"name":"carrel-mine","status":"Running","config":{}}
{"name":"carrel-ab","status":"Stopped","dir":"/d",
 "config":{"env":{"CARREL_WORKSPACE":"ab","CARREL_TEMPLATE":"m"},"mounts":[{"location":"/p"}]}}
{"name":"other","status":"Stopped","config":{"env":{"CARREL_WORKSPACE":"ab","CARREL_TEMPLATE":"m"}}}
`))
	want := Machine{Name: "carrel-ab", Status: "Stopped", Dir: "/d", Workspace: "ab", Mark: "m", Project: "/p"}
	if err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := machinesOf([]byte("no json")); err == nil {
		t.Error("that was read")
	}
}

// fakeProgram finds the limactl of testdata. Its machines lie in a directory of the test.
func fakeProgram(t *testing.T, more ...string) (*Program, error) {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Find(context.Background(), []string{"PATH=" + dir + ":/usr/bin:/bin", "LIMA_HOME=" + t.TempDir(), "SECRET=1"}, 1000)
	if p != nil {
		p.Env = append(p.Env, more...)
	}
	return p, err
}

func TestFind(t *testing.T) {
	p, err := fakeProgram(t)
	if err != nil || p.Version != "1.2.2" {
		t.Fatalf("%+v %v", p, err)
	}
	for _, v := range p.Env {
		if strings.HasPrefix(v, "SECRET=") {
			t.Error("limactl gets all of the environment")
		}
	}
	if _, err := Find(context.Background(), []string{"PATH=/nowhere"}, 1000); err == nil || !strings.Contains(err.Error(), "no limactl") {
		t.Error(err)
	}
	if _, err := Find(context.Background(), nil, 0); err == nil || !strings.Contains(err.Error(), "root") {
		t.Error(err)
	}
}
