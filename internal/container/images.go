package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"carrel/internal/advice"
)

const (
	workTime  = time.Hour // for an image to be built or fetched
	probeTime = time.Minute
	maxImages = 4096
)

// Names of the images that Carrel makes. No registry has them.
const (
	BaseImage   = "localhost/carrel-sandbox-base:latest"
	agentPrefix = "localhost/carrel-sandbox:"
)

// ImageOf is the name of the image for an agent, "" for the one without.
func ImageOf(agent string) string {
	if agent == "" {
		agent = "latest"
	}
	return agentPrefix + agent
}

// Image is one image of the engine.
type Image struct {
	ID      string // 64 hexadecimal digits
	Names   []string
	Agent   string // "" where it is for none
	Created time.Time
	Size    int64
	Arch    string
	User    string // of its configuration
	Env     []string
	Base    string // the id of what an overlay lies on

	owner, named string
}

// Ours reports whether Carrel made the image: by its label, which an image built from one of
// ours has too, and by the name that it was given then. Without any name it is an older build.
func (i *Image) Ours() bool {
	return i.owner == OwnerValue && (len(i.Names) == 0 || slices.Contains(i.Names, i.named))
}

// ownLabels are those of an image that gets a name.
func ownLabels(name, agent string) []string {
	list := []string{LabelOwner + "=" + OwnerValue, LabelName + "=" + name}
	if agent != "" {
		list = append(list, LabelAgent+"="+agent)
	}
	return list
}

// Images are those that Carrel made, the newest first.
func (e *Engine) Images(ctx context.Context) ([]Image, error) {
	said, err := e.Do(ctx, Call{Args: []string{"images", "--quiet", "--no-trunc", "--filter", "label=" + LabelOwner + "=" + OwnerValue}})
	if err != nil {
		return nil, err
	}
	ids, err := idsOf(said)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := e.inspect(ctx, ids)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i Image) bool { return !i.Ours() })
	slices.SortStableFunc(list, func(x, y Image) int { return y.Created.Compare(x.Created) })
	return list, nil
}

// Inspect finds an image by name or id, which the caller has checked.
func (e *Engine) Inspect(ctx context.Context, name string) (*Image, error) {
	list, err := e.inspect(ctx, []string{name})
	switch {
	case err != nil:
		return nil, err
	case len(list) != 1:
		return nil, fmt.Errorf("%s knows %d images of the name %q", e.Kind, len(list), name)
	}
	return &list[0], nil
}

func (e *Engine) inspect(ctx context.Context, names []string) ([]Image, error) {
	said, err := e.Do(ctx, Call{Args: append([]string{"image", "inspect", "--"}, names...)})
	if err != nil {
		return nil, err
	}
	return parseImages(said)
}

func parseImages(said []byte) ([]Image, error) {
	var raw []struct {
		ID           string `json:"Id"`
		RepoTags     []string
		Created      time.Time
		Size         int64
		Architecture string
		Config       struct {
			Labels map[string]string
			User   string
			Env    []string
		}
	}
	if err := json.Unmarshal(said, &raw); err != nil {
		return nil, fmt.Errorf("what the engine says of images: %w", err)
	}
	var list []Image
	for _, r := range raw {
		id, err := checkID(r.ID)
		if err != nil {
			return nil, err
		}
		l := r.Config.Labels
		list = append(list, Image{ID: id, Names: r.RepoTags, Agent: l[LabelAgent], Created: r.Created, Size: r.Size, Arch: goArch(r.Architecture),
			User: r.Config.User, Env: r.Config.Env, Base: l[LabelBase], owner: l[LabelOwner], named: l[LabelName]})
	}
	return list, nil
}

// idsOf reads ids, one a line, each once.
func idsOf(said []byte) ([]string, error) {
	var ids []string
	for _, line := range strings.Fields(string(said)) {
		id, err := checkID(line)
		switch {
		case err != nil:
			return nil, err
		case !slices.Contains(ids, id):
			ids = append(ids, id)
		}
		if len(ids) > maxImages {
			return nil, fmt.Errorf("the engine has more than %d of them", maxImages)
		}
	}
	return ids, nil
}

// checkID takes what engines write before the digits. The id becomes an argument.
func checkID(text string) (string, error) {
	id := strings.TrimPrefix(text, "sha256:")
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", fmt.Errorf("the engine gave %.80q, which is no id", text)
	}
	return id, nil
}

// Build says what an image is built from.
type Build struct {
	File     string // the Dockerfile, absolute
	Context  string // a directory, absolute
	Name     string
	Agent    string
	Labels   []string // further ones
	Args     []string // NAME=value
	NoCache  bool
	Offline  bool // no step has a network
	Progress io.Writer
}

// Build builds an image and names it.
func (e *Engine) Build(ctx context.Context, b Build) error {
	_, err := e.Do(ctx, Call{Args: b.arguments(), Out: b.Progress, Err: b.Progress, Time: workTime, Fetch: true})
	return err
}

func (b *Build) arguments() []string {
	args := []string{"build", "--file", b.File, "--tag", b.Name}
	for _, l := range append(ownLabels(b.Name, b.Agent), b.Labels...) {
		args = append(args, "--label", l)
	}
	for _, a := range b.Args {
		args = append(args, "--build-arg", a)
	}
	if b.NoCache {
		args = append(args, "--no-cache")
	}
	if b.Offline {
		args = append(args, "--network", "none")
	}
	return append(args, "--", b.Context)
}

// Import makes an image of a tar archive of a root directory.
func (e *Engine) Import(ctx context.Context, archive io.Reader, name, agent string, progress io.Writer) error {
	args := []string{"import"}
	for _, l := range ownLabels(name, agent) {
		key, value, _ := strings.Cut(l, "=")
		args = append(args, "--change", "LABEL "+key+"="+value)
	}
	_, err := e.Do(ctx, Call{Args: append(args, "-", name), Stdin: archive, Out: progress, Err: progress, Time: workTime})
	return err
}

// Pull fetches an image.
func (e *Engine) Pull(ctx context.Context, name string, progress io.Writer) error {
	_, err := e.Do(ctx, Call{Args: []string{"pull", "--", name}, Out: progress, Err: progress, Time: workTime, Fetch: true})
	return err
}

// Pruned is an image or a container that was removed, or that was not.
type Pruned struct {
	ID    string
	Names []string
	Size  int64
	Kept  string // why it is still there, "" where it is not
}

// Prune removes images that Carrel made and no container uses: older builds, or with all each
// of them. With dry it says what it would remove.
func (e *Engine) Prune(ctx context.Context, all, dry bool) ([]Pruned, error) {
	list, err := e.Images(ctx)
	if err != nil {
		return nil, err
	}
	var out []Pruned
	for _, i := range list { // the newest first: an overlay before its base
		base := slices.ContainsFunc(list, func(o Image) bool { return o.Base == i.ID })
		if !all && (len(i.Names) > 0 || base) {
			continue
		}
		p := Pruned{ID: i.ID, Names: i.Names, Size: i.Size}
		if !dry {
			p.Kept = e.remove(ctx, "rmi", i.ID)
		}
		out = append(out, p)
	}
	return out, ctx.Err()
}

// Leftovers removes containers of Carrel's that have ended and were not removed.
func (e *Engine) Leftovers(ctx context.Context, dry bool) ([]Pruned, error) {
	var out []Pruned
	for _, status := range []string{"exited", "dead"} { // one that is only created is about to start
		if status == "dead" && e.Kind == Podman {
			continue // a word of docker's
		}
		said, err := e.Do(ctx, Call{Args: []string{"ps", "--all", "--quiet", "--no-trunc",
			"--filter", "label=" + LabelOwner + "=" + OwnerValue, "--filter", "status=" + status}})
		if err != nil {
			return out, err
		}
		ids, err := idsOf(said)
		if err != nil {
			return out, err
		}
		for _, id := range ids {
			p := Pruned{ID: id}
			if !dry {
				p.Kept = e.remove(ctx, "rm", "--volumes", id)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// remove is without force: what is in use stays. It says why it stayed.
func (e *Engine) remove(ctx context.Context, args ...string) string {
	_, err := e.Do(ctx, Call{Args: args, Time: 5 * time.Minute})
	var known *advice.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &known):
		return known.Err.Error()
	}
	return err.Error()
}
