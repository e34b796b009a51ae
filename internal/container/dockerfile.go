package container

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed dockerfiles
var dockerfiles embed.FS

// UserDockerfile is the name of the person's own Dockerfile, in their configuration directory.
// The directory of this name with ".d" is what its COPY finds.
const UserDockerfile = "Dockerfile.sandbox"

// Agents are those with a Dockerfile of ours.
func Agents() []string {
	var list []string
	entries, _ := fs.ReadDir(dockerfiles, "dockerfiles") // it is embedded
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".dockerfile"); name != "base" {
			list = append(list, name)
		}
	}
	return list
}

// Dockerfile is the built-in one of an agent as a whole, base included; that of no agent is
// the base alone.
func Dockerfile(agent string) (string, error) {
	base, own, err := parts(agent)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(own) {
		if !strings.HasPrefix(line, "ARG BASE") && !strings.HasPrefix(line, "FROM ") {
			base += line
		}
	}
	return base, nil
}

// parts are the Dockerfiles of the base and of an agent's own layer.
func parts(agent string) (base, own string, err error) {
	text, err := fs.ReadFile(dockerfiles, "dockerfiles/base.dockerfile")
	if err != nil || agent == "" {
		return string(text), "", err
	}
	layer, err := fs.ReadFile(dockerfiles, "dockerfiles/"+agent+".dockerfile")
	if err != nil || agent == "base" {
		return "", "", fmt.Errorf("there is no Dockerfile for %q; there are %s", agent, strings.Join(Agents(), ", "))
	}
	return string(text), string(layer), nil
}

// Workplace is a private directory below dir with an empty context in it, for one build.
type Workplace struct{ Dir, Context string }

// NewWorkplace makes one.
func NewWorkplace(dir string) (*Workplace, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the place of builds: %w", err)
	}
	own, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return nil, fmt.Errorf("making the directory of a build: %w", err)
	}
	w := &Workplace{own, filepath.Join(own, "context")}
	if err := os.Mkdir(w.Context, 0o700); err != nil {
		return nil, fmt.Errorf("making the context of a build: %w", err)
	}
	return w, nil
}

// Close removes it.
func (w *Workplace) Close() error { return os.RemoveAll(w.Dir) }

// write puts a file beside the context.
func (w *Workplace) write(name, text string) (string, error) {
	at := filepath.Join(w.Dir, name)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing a Dockerfile: %w", err)
	}
	return at, nil
}

// Builtin gives the builds that make the built-in image of an agent: the base, then its layer.
func (w *Workplace) Builtin(agent string, like Build) ([]Build, error) {
	base, own, err := parts(agent)
	if err != nil {
		return nil, err
	}
	first := like
	first.Name, first.Context, first.Agent = BaseImage, w.Context, ""
	if agent == "" {
		first.Name = ImageOf("")
	}
	if first.File, err = w.write("base", base); err != nil || agent == "" {
		return []Build{first}, err
	}
	second := like
	second.Name, second.Context, second.Agent, second.Args = ImageOf(agent), w.Context, agent, append(second.Args, "BASE="+BaseImage)
	if second.File, err = w.write(agent, own); err != nil {
		return nil, err
	}
	return []Build{first, second}, nil
}
