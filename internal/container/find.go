package container

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"carrel/internal/advice"
)

// The words of the setting container.engine.
const (
	Auto   = "auto" // podman where it is installed, else docker
	Podman = "podman"
	Docker = "docker"
)

// Engines are these words.
var Engines = []string{Auto, Podman, Docker}

// Labels of what Carrel makes.
const (
	LabelOwner     = "dev.carrel.owner"     // [OwnerValue] on images and containers
	LabelAgent     = "dev.carrel.agent"     // the agent that an image is for
	LabelWorkspace = "dev.carrel.workspace" // the id of the workspace of a container
	LabelName      = "dev.carrel.name"      // the name that an image was given by us
	LabelBase      = "dev.carrel.base"      // the id of the image that an overlay lies on
	OwnerValue     = "carrel"
)

// programDirs are where engines are looked for: a PATH may have been written by anyone.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin", "/snap/bin"}

// enginePath is the PATH of engines: they start a runtime, a monitor and newuidmap.
const enginePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"

// passed are the variables of the person that engines get: where they keep things and where
// their own configuration is. None of them names a program.
var passed = []string{"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
	"CONTAINERS_REGISTRIES_CONF", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG"}

// fetching are those that it also gets where it has to reach a registry.
var fetching = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// Engine is a container engine of this machine.
type Engine struct {
	Kind    string // Podman or Docker
	Program string // absolute
	Socket  string // of docker's daemon, "" with podman
	Env     []string

	fetchEnv []string
}

// Search says which engine is looked for.
type Search struct {
	Engine string // of [Engines], "" is Auto
	Getenv func(string) string

	dirs   []string // for tests; nil is programDirs
	system string   // for tests; "" is this one
}

// Find gives the engine without starting anything. It refuses one on another machine.
func Find(s Search) (*Engine, error) {
	if s.dirs == nil {
		s.dirs = programDirs
	}
	if s.system == "" {
		s.system = runtime.GOOS
	}
	if s.system != "linux" {
		return nil, &advice.Error{Err: fmt.Errorf("containers run in a virtual machine on %s, whose kernel the broker cannot supervise",
			s.system),
			Hint: "use `--backend lima`"}
	}
	kinds := []string{s.Engine}
	if s.Engine == "" || s.Engine == Auto {
		kinds = []string{Podman, Docker}
	}
	for _, kind := range kinds {
		program := s.program(kind)
		if program == "" {
			continue
		}
		e := &Engine{Kind: kind, Program: program, Env: []string{"PATH=" + enginePath, "LANG=C.UTF-8"}}
		for _, name := range passed {
			if v := s.Getenv(name); v != "" {
				e.Env = append(e.Env, name+"="+v)
			}
		}
		for _, name := range fetching {
			if v := s.Getenv(name); v != "" {
				e.fetchEnv = append(e.fetchEnv, name+"="+v)
			}
		}
		return e, e.local(s)
	}
	return nil, &advice.Error{Err: fmt.Errorf("there is no %s in %s", strings.Join(kinds, " and no "), strings.Join(s.dirs, ", ")),
		Hint: "install podman, or docker with `container.engine: docker`; `--backend process` needs neither"}
}

// program is the absolute path of an engine, "" where it is not installed.
func (s Search) program(kind string) string {
	for _, dir := range s.dirs {
		at := filepath.Join(dir, kind)
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// local finds out whether the engine works with this kernel.
func (e *Engine) local(s Search) error {
	if e.Kind == Podman {
		for _, name := range []string{"CONTAINER_HOST", "CONTAINER_CONNECTION"} {
			if v := s.Getenv(name); v != "" {
				return elsewhere(e.Kind, name+" "+v, "unset "+name)
			}
		}
		return nil
	}
	host, from, err := s.dockerHost()
	if err != nil {
		return err
	}
	socket, unix := strings.CutPrefix(host, "unix://")
	switch {
	case !unix:
		return elsewhere(e.Kind, host, from)
	case !filepath.IsAbs(socket):
		return fmt.Errorf("docker's socket %q is not an absolute path: %s", socket, from)
	}
	if ownedByOrdinaryUser(socket) { // as root, the socket of a rootless daemon too
		return withoutRoot(socket)
	}
	e.Socket = socket
	e.Env = append(e.Env, "DOCKER_HOST="+host)
	return nil
}

func withoutRoot(socket string) error {
	return &advice.Error{Err: fmt.Errorf("docker's daemon at %s has no root (rootless) and maps the users of containers to others; "+
		"their processes cannot be supervised", socket),
		Hint: "set `container.engine: podman`, which needs no root either, or use the system's daemon"}
}

func elsewhere(kind, at, fix string) error {
	return &advice.Error{Err: fmt.Errorf("%s at %s is on another machine; the broker needs this kernel", kind, at),
		Hint: fix + ", or run Carrel on that machine"}
}

// dockerHost gives the address of docker's daemon as docker's own client finds it, and what
// would change it.
func (s Search) dockerHost() (host, fix string, err error) {
	const standard = "unix:///var/run/docker.sock"
	if host := s.Getenv("DOCKER_HOST"); host != "" {
		return host, "unset DOCKER_HOST", nil
	}
	dir := s.Getenv("DOCKER_CONFIG")
	if dir == "" {
		dir = filepath.Join(s.Getenv("HOME"), ".docker")
	}
	name := s.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil && !os.IsNotExist(err) {
			return "", "", fmt.Errorf("docker's configuration: %w", err)
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return standard, "", nil
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}

	if err := readJSON(filepath.Join(dir, "contexts", "meta", contextDir(name), "meta.json"), &meta); err != nil {
		return "", "", &advice.Error{Err: fmt.Errorf("docker's context %q: %w", name, err), Hint: "docker context use default"}
	}
	return meta.Endpoints["docker"].Host, "docker context use default", nil
}

// maxConfig bounds one file of docker's configuration, in bytes.
const maxConfig = 1 << 20

// readJSON reads a small file of the person's own. Unknown names are docker's business.
func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxConfig:
		return fmt.Errorf("%s is larger than %d bytes", path, maxConfig)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// contextDir is the name of the directory in which docker keeps a context.
func contextDir(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
