package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// guestPrograms is where programs of ours lie in images.
const guestPrograms = "/usr/local/bin"

// Overlay puts programs, by their absolute paths, into an image: a thin layer on top, under the
// same name. A layer of an earlier time is replaced and not added to.
func (e *Engine) Overlay(ctx context.Context, w *Workplace, i *Image, programs []string, progress io.Writer) error {
	base := i.ID
	if i.Base != "" {
		if _, err := e.Inspect(ctx, i.Base); err == nil {
			base = i.Base
		}
	}
	var names []string
	for _, p := range programs {
		if err := copyProgram(p, filepath.Join(w.Context, filepath.Base(p))); err != nil {
			return err
		}
		names = append(names, filepath.Base(p))
	}
	file, err := w.write("overlay", "FROM "+base+"\nCOPY "+strings.Join(names, " ")+" "+guestPrograms+"/\n")
	if err != nil {
		return err
	}
	return e.Build(ctx, Build{File: file, Context: w.Context, Name: i.named, Agent: i.Agent, Labels: []string{LabelBase + "=" + base},
		Offline: true, Progress: progress})
}

// copyProgram copies a program into a context: the engine reads no link.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := out.Chmod(0o755); err != nil { // whatever the umask is
		out.Close()
		return err
	}
	return out.Close()
}

// Running are the ids of Carrel's containers that run.
func (e *Engine) Running(ctx context.Context) ([]string, error) {
	said, err := e.Do(ctx, Call{Args: []string{"ps", "--quiet", "--no-trunc", "--filter", "label=" + LabelOwner + "=" + OwnerValue}})
	if err != nil {
		return nil, err
	}
	return idsOf(said)
}

// Why a container has no programs put into it, which is no failure.
var (
	ErrEnded    = errors.New("the container has ended meanwhile")
	ErrReadOnly = errors.New("its system is read-only; its next start has what the image has then")
)

// CopyIn puts programs into a running container. One that ends meanwhile is [ErrEnded], one
// that takes no files, as those of workspaces, [ErrReadOnly].
func (e *Engine) CopyIn(ctx context.Context, id string, programs []string) error {
	fixed, err := e.Do(ctx, Call{Args: []string{"inspect", "--type", "container", "--format", "{{.HostConfig.ReadonlyRootfs}}", id}})
	if err == nil && strings.TrimSpace(string(fixed)) == "true" {
		return ErrReadOnly
	}
	for _, p := range programs {
		if err == nil {
			_, err = e.Do(ctx, Call{Args: []string{"cp", p, id + ":" + guestPrograms + "/" + filepath.Base(p)}, Time: probeTime})
		}
	}
	if err != nil {
		if ids, e := e.Running(ctx); e == nil && !slices.Contains(ids, id) {
			return ErrEnded
		}
	}
	return err
}
