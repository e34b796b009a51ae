package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/advice"
)

var errDaemon = errors.New("its daemon does not answer")

// refuses says why no workspace can run in this engine, nil where one can.
func (e *Engine) refuses(f *Facts, kernel string) error {
	switch {
	case f.Remote || f.Kernel != "" && kernel != "" && f.Kernel != kernel:
		at := e.Socket
		if at == "" {
			at = "the service of containers.conf"
		}
		return elsewhere(e.Kind, at, "use an engine of this kernel")
	case f.Hybrid:
		return e.Explain(e.Kind, nil, "crun: cgroups in hybrid mode not supported")
	case f.Rootless && e.Kind == Docker:
		return withoutRoot(e.Socket)
	case f.Remapped:
		return &advice.Error{Err: errors.New(
			"docker maps the users of containers to others (userns-remap); their processes cannot be supervised"),
			Hint: "set `container.engine: podman`, or take userns-remap out of docker's daemon.json"}
	}
	return nil
}

// Warnings are what the engine does less well here than it could.
func (f *Facts) Warnings() []string {
	var list []string
	if f.Storage == "vfs" {
		list = append(list, "the engine's storage driver is vfs, with which each start copies the image: "+
			`set driver = "overlay" in storage.conf, then run "podman system reset", which removes all images`)
	}
	return list
}

// engineSockets are by name what engines listen at: who can write there is root, or the
// person, without walls.
var engineSockets = []string{"docker.sock", "podman.sock", "containerd.sock", "crio.sock", "buildkitd.sock", "cri-dockerd.sock"}

// socketPlaces are where they lie, beside those of the user's runtime directory.
var socketPlaces = []string{"/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
	"/run/buildkit/buildkitd.sock"}

// CheckMount refuses a mount by which commands inside reach an engine's socket: the socket
// itself under any name, or a directory that has it.
func (e *Engine) CheckMount(path, runtimeDir string) error {
	refused := func(socket string) error {
		return &advice.Error{Err: fmt.Errorf("%s gives commands inside the engine's socket %s, and with it this machine", path, socket),
			Hint: "leave it out of the mounts"}
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil // the mount fails by itself
	}
	if st.Mode()&os.ModeSocket != 0 && slices.Contains(engineSockets, filepath.Base(path)) {
		return refused(path)
	}
	places := slices.Clone(socketPlaces)
	if e.Socket != "" {
		places = append(places, e.Socket)
	}
	if runtimeDir != "" {
		places = append(places, filepath.Join(runtimeDir, "docker.sock"), filepath.Join(runtimeDir, "podman", "podman.sock"))
	}
	for _, socket := range places {
		whole, err := filepath.EvalSymlinks(socket)
		if err != nil {
			continue
		}
		for at := whole; ; at = filepath.Dir(at) {
			if there, err := os.Stat(at); err == nil && os.SameFile(st, there) {
				return refused(socket)
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return nil
}
