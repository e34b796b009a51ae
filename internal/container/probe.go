package container

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/advice"
)

// probeScript prints where the shell of an image finds each of its arguments.
//
//go:embed probe.sh
var probeScript string

// Probe finds programs in an image, by name. It starts the image's own shell, without network
// and rights, as a user who owns nothing.
func (e *Engine) Probe(ctx context.Context, image string, programs []string) (map[string]string, error) {
	args := []string{"create", "--pull", "never", "--network", "none", "--read-only", "--cap-drop", "all", "--security-opt",
		"no-new-privileges",
		"--label", LabelOwner + "=" + OwnerValue, "--user", "65534:65534", "--entrypoint", "/bin/sh", image, "-c", probeScript, "sh"}
	said, err := e.Do(ctx, Call{Args: append(args, programs...), Time: probeTime})
	if err != nil {
		return nil, err
	}
	id, err := checkID(string(bytes.TrimSpace(said)))
	if err != nil {
		return nil, err
	}
	defer func() {
		_, _ = e.Do(context.WithoutCancel(ctx), Call{Args: []string{"rm", "--force", "--volumes", id}})
	}()
	said, err = e.Do(ctx, Call{Args: []string{"start", "--attach", id}, Time: probeTime})
	if err != nil {
		if text := err.Error(); strings.Contains(text, "/bin/sh") {
			return nil, &advice.Error{Err: fmt.Errorf("the image %s has no /bin/sh", image),
				Hint: "take an image with a shell: commands are started by it"}
		}
		return nil, err
	}
	return parseProbe(said, programs), nil
}

// parseProbe takes what the image's shell says of the programs that were asked about, and
// nothing else: the image is not trusted.
func parseProbe(said []byte, programs []string) map[string]string {
	found := make(map[string]string)
	for line := range bytes.Lines(said) {
		name, path, ok := strings.Cut(strings.TrimRight(string(line), "\n"), "=")
		if ok && slices.Contains(programs, name) && strings.HasPrefix(path, "/") && len(path) < 4096 {
			found[name] = path
		}
	}
	return found
}
