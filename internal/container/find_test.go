package container

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programs makes a directory with programs of these names.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func getenv(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if rest, ok := strings.CutPrefix(v, name+"="); ok {
				return rest
			}
		}
		return ""
	}
}

func TestFind(t *testing.T) {
	both, podman, docker, none := programs(t, "podman", "docker"), programs(t, "podman"), programs(t, "docker"), programs(t)
	home := t.TempDir()
	for _, c := range []struct {
		name, dir, engine string
		env               []string
		kind, socket      string
		refused           string
	}{
		{name: "podman first", dir: both, kind: Podman},
		{name: "docker where there is no podman", dir: docker, engine: Auto, kind: Docker, socket: "/var/run/docker.sock"},
		{name: "docker by name", dir: both, engine: Docker, kind: Docker, socket: "/var/run/docker.sock"},
		{name: "another socket", dir: docker, env: []string{"DOCKER_HOST=unix:///run/user/7/docker.sock"}, kind: Docker,
			socket: "/run/user/7/docker.sock"},
		{name: "podman is not installed", dir: docker, engine: Podman, refused: "there is no podman in"},
		{name: "none is", dir: none, refused: "there is no podman and no docker in"},
		{name: "docker by tcp", dir: docker, env: []string{"DOCKER_HOST=tcp://10.0.0.7:2375"},
			refused: "docker at tcp://10.0.0.7:2375 is on another machine; the broker needs this kernel\nhint: unset DOCKER_HOST"},
		{name: "docker by ssh", dir: docker, env: []string{"DOCKER_HOST=ssh://me@there"},
			refused: "docker at ssh://me@there is on another machine"},
		{name: "a socket by a relative path", dir: docker, env: []string{"DOCKER_HOST=unix://here"}, refused: "is not an absolute path"},
		{name: "a context that is not there", dir: docker, env: []string{"DOCKER_CONTEXT=gone", "HOME=" + home},
			refused: `docker's context "gone"`},
		{name: "podman's service elsewhere", dir: podman, env: []string{"CONTAINER_HOST=ssh://there"},
			refused: "podman at CONTAINER_HOST ssh://there is on another machine"},
	} {
		e, err := Find(Search{Engine: c.engine, Getenv: getenv(c.env...), dirs: []string{c.dir}, system: "linux"})
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.name, err, c.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case e.Kind != c.kind || e.Socket != c.socket || e.Program != filepath.Join(c.dir, c.kind):
			t.Errorf("%s: %+v", c.name, e)
		}
	}
	if _, err := Find(Search{Getenv: getenv(), dirs: []string{both}, system: "darwin"}); err == nil || !strings.Contains(err.Error(),
		"--backend lima") {
		t.Errorf("on macOS: %v", err)
	}
}

// TestDockerContext: the context that docker's own client would use decides where the daemon is.
func TestDockerContext(t *testing.T) {
	home := t.TempDir()
	write := func(rel, text string) {
		t.Helper()
		at := filepath.Join(home, ".docker", rel)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	find := func() (*Engine, error) {
		return Find(Search{Engine: Docker, Getenv: getenv("HOME=" + home), dirs: []string{programs(t, "docker")}, system: "linux"})
	}
	write("config.json", `{"currentContext": "remote", "auths": {}}`)
	meta := "contexts/meta/" + contextDir("remote") + "/meta.json"
	if _, err := find(); err == nil || !strings.Contains(err.Error(), `docker's context "remote"`) {
		t.Errorf("a context without a file: %v", err)
	}
	write(meta, `{"Name": "remote", "Endpoints": {"docker": {"Host": "ssh://there"}}}`)
	if _, err := find(); err == nil || !strings.Contains(err.Error(),
		"docker at ssh://there is on another machine") || !strings.Contains(err.Error(), "docker context use default") {
		t.Errorf("a context on another machine: %v", err)
	}
	write(meta, `{"Name": "remote", "Endpoints": {"docker": {"Host": "unix:///run/user/7/docker.sock"}}}`)
	if e, err := find(); err != nil || e.Socket != "/run/user/7/docker.sock" {
		t.Errorf("a context on this machine: %+v, %v", e, err)
	}
	write("config.json", "{")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "docker's configuration") {
		t.Errorf("broken configuration: %v", err)
	}
}

// TestRootlessDocker: a daemon that an ordinary user has started is refused by the owner of
// its socket; the system's is root's.
func TestRootlessDocker(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	find := func() error {
		_, err := Find(Search{Engine: Docker, Getenv: getenv("DOCKER_HOST=unix://" + socket), dirs: []string{programs(t, "docker")}, system: "linux"})
		return err
	}
	if err := find(); err != nil {
		t.Errorf("root's: %v", err)
	}
	if err := os.Chown(socket, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if err := find(); err == nil || !strings.Contains(err.Error(), "(rootless)") || !strings.Contains(err.Error(), "container.engine: podman") {
		t.Errorf("a user's: %v", err)
	}
}

// TestEngineEnvironment: an engine gets what it finds its own files by, and nothing else of
// the person's.
func TestEngineEnvironment(t *testing.T) {
	e, err := Find(Search{Engine: Docker, dirs: []string{programs(t, "docker")}, system: "linux",
		Getenv: getenv("HOME=/home/u", "PATH=/evil", "API_KEY=secret", "LD_PRELOAD=/evil", "HTTPS_PROXY=http://proxy", "DOCKER_CONTEXT=default")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"PATH=" + enginePath, "LANG=C.UTF-8", "HOME=/home/u", "DOCKER_HOST=unix:///var/run/docker.sock"}
	if !slices.Equal(e.Env, want) {
		t.Errorf("%q, want %q", e.Env, want)
	}
	if !slices.Equal(e.fetchEnv, []string{"HTTPS_PROXY=http://proxy"}) {
		t.Errorf("to fetch: %q", e.fetchEnv)
	}
}
