package container

import (
	"strings"
	"testing"
)

func TestFactsOfPodman(t *testing.T) {
	said := `{"host": {"arch": "amd64", "cgroupVersion": "v1", "kernel": "6.1", "ociRuntime": {"name": "runc", "version": "1.1"},
		"security": {"rootless": true}, "serviceIsRemote": false, "more": [1],
		"idMappings": {"uidmap": [{"container_id": 0, "host_id": 1000, "size": 1}, {"container_id": 1, "host_id": 100000, "size": 65536}]}},
		"store": {"graphDriverName": "vfs"}, "version": {"Version": "4.3.1"}}`
	f, err := parseFacts(Podman, []byte(said))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Facts{Version: "4.3.1", Rootless: true, Runtime: "runc", Storage: "vfs", CgroupV1: true, Kernel: "6.1",
		Architecture: "amd64", IDs: 65537}); *f != want {
		t.Errorf("%+v, want %+v", *f, want)
	}
	if list := f.Warnings(); len(list) != 1 || !strings.Contains(list[0], "storage driver is vfs") {
		t.Errorf("warnings: %q", list)
	}
}

func TestFactsOfDocker(t *testing.T) {
	said := `{"ServerVersion": "20.10.24", "Driver": "overlay2", "DefaultRuntime": "runc", "CgroupVersion": "1", "KernelVersion": "6.1",
		"Architecture": "aarch64", "SecurityOptions": ["name=seccomp,profile=default", "name=userns"]}`
	f, err := parseFacts(Docker, []byte(said))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Facts{Version: "20.10.24", Remapped: true, Runtime: "runc", Storage: "overlay2", CgroupV1: true, Kernel: "6.1",
		Architecture: "arm64"}); *f != want {
		t.Errorf("%+v, want %+v", *f, want)
	}
	// Newer clients answer with an empty value and the reason.
	_, err = parseFacts(Docker, []byte(`{"ServerVersion": "",
		"ServerErrors": ["Cannot connect to the Docker daemon at unix:///s. Is the docker daemon running?"]}`))
	if err == nil || !strings.Contains(err.Error(), "its daemon does not answer") {
		t.Errorf("no daemon: %v", err)
	}
}

func TestEngineIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  string
		facts Facts
		want  string // "" where it can be used
	}{
		{"podman", Podman, Facts{Kernel: "6.1"}, ""},
		{"docker, which does not tell its kernel", Docker, Facts{}, ""},
		{"another kernel", Docker, Facts{Kernel: "5.15-linuxkit"}, "docker at /d.sock is on another machine; the broker needs this kernel"},
		{"a virtual machine of docker's", Docker, Facts{Remote: true}, "is on another machine"},
		{"podman's service", Podman, Facts{Remote: true}, "podman at"},
		{"crun and hybrid cgroups", Podman, Facts{Hybrid: true},
			`crun does not know hybrid cgroups (crun: cgroups in hybrid mode not supported)` + "\n" + `hint: set runtime = "runc"`},
		{"other ids", Docker, Facts{Remapped: true}, "userns-remap"},
		{"docker without root", Docker, Facts{Rootless: true}, "docker's daemon at /d.sock has no root (rootless)"},
		{"podman without root", Podman, Facts{Rootless: true}, ""},
	} {
		e := &Engine{Kind: c.kind}
		if c.kind == Docker {
			e.Socket = "/d.sock"
		}
		err := e.refuses(&c.facts, "6.1")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
