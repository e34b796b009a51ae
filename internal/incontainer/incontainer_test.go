package incontainer

import (
	"os"
	"strings"
	"testing"
)

func facts(env, files map[string]string) Facts {
	read := func(path string) (string, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return "", os.ErrNotExist
	}
	return Facts{Getenv: func(name string) string { return env[name] }, Read: read, First: func() bool { return false },
		Exists: func(path string) bool { _, err := read(path); return err == nil }}
}

// TestKind: the marks that engines leave, the surest first.
func TestKind(t *testing.T) {
	pod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
	for name, c := range map[string]struct {
		env, files map[string]string
		want       string
	}{
		"nothing":               {nil, map[string]string{"/proc/self/cgroup": "0::/user.slice/session-1.scope\n"}, ""},
		"docker":                {nil, map[string]string{"/.dockerenv": ""}, Docker},
		"podman":                {map[string]string{"container": "oci"}, map[string]string{"/run/.containerenv": "engine=\"podman\"\n"}, Podman},
		"pod":                   {pod, nil, Kubernetes},
		"pod of CRI-O":          {pod, map[string]string{"/run/.containerenv": ""}, Kubernetes},
		"pod of docker":         {pod, map[string]string{"/.dockerenv": ""}, Kubernetes},
		"pod without variables": {nil, map[string]string{"/var/run/secrets/kubernetes.io/serviceaccount": ""}, Kubernetes},
		"nspawn":                {nil, map[string]string{"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"},
		"lxc":                   {map[string]string{"container": "lxc"}, nil, "lxc"},
		"group of a pod":        {nil, map[string]string{"/proc/self/cgroup": "4:memory:/kubepods/besteffort/pod1/2\n0::/\n"}, Kubernetes},
		"group of podman":       {nil, map[string]string{"/proc/self/cgroup": "0::/user.slice/libpod-1.scope\n"}, Podman},
		"group of docker":       {nil, map[string]string{"/proc/self/cgroup": "4:memory:/docker/1\n"}, Docker},
		"groups without names":  {nil, map[string]string{"/proc/self/cgroup": "4:memory:/\n0::/\n"}, ""},
	} {
		if got := facts(c.env, c.files).Kind(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	first := facts(pod, map[string]string{"/.dockerenv": ""})
	first.First = func() bool { return true }
	if got := first.Kind(); got != "" {
		t.Errorf("a machine made from an image: %q", got)
	}
}

// TestRunner: jobs are known by what their service says.
func TestRunner(t *testing.T) {
	for variable, want := range map[string]string{
		"": "", "CI": "a CI job", "GITHUB_ACTIONS": "a GitHub Actions job", "GITLAB_CI": "a GitLab CI job",
	} {
		if got := facts(map[string]string{variable: "true"}, nil).Runner(); got != want {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
}

// TestAdvice: each kind is told in its own words, and that it costs something.
func TestAdvice(t *testing.T) {
	for kind, want := range map[string][2]string{
		Docker: {"docker run --security-opt seccomp=unconfined", "docker run --user"}, Podman: {"unmask=ALL", "podman run --user"},
		Kubernetes: {"procMount: Unmasked", "runAsUser"}, "other": {"no seccomp profile", "ordinary user"},
	} {
		open, user := Opened(kind), AsUser(kind)
		if !strings.Contains(open, want[0]) || !strings.Contains(open, "further") || !strings.Contains(user, want[1]) {
			t.Errorf("%s: %s; %s", kind, open, user)
		}
	}
}
