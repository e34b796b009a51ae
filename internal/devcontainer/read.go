package devcontainer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"carrel/internal/hostfile"
	"carrel/internal/jsontree"
)

// files are the names that it may have in a project, the first before the second.
var files = [][2]string{{".devcontainer", "devcontainer.json"}, {".", ".devcontainer.json"}}

const (
	maxFile     = 1 << 20 // bytes
	maxVariable = 32 << 10
	maxCommand  = 64 << 10
	maxCommands = 64
	maxIgnored  = 40 // things that are told
)

// Options say what the user lets a project's file choose.
type Options struct {
	Project string // absolute
	Image   func(name string) bool
	Env     func(name string) bool
	Run     bool // its lifecycle commands run inside
}

// Config is what is taken of a file.
type Config struct {
	File      string // absolute; "" where the project has none
	Image     string // "" where none is named, or none that may be
	User      string // a name that commands may have inside; their rights are the caller's
	Env       map[string]string
	Drop      []string // variables that are not passed
	Lifecycle []Command
	Ignored   []Ignored
}

// Command is a lifecycle command.
type Command struct {
	When string // the key that it stands at
	Name string // of one of several, "" for one alone
	Argv []string
}

// Ignored is something that the file asks for and that is not taken.
type Ignored struct {
	Key  string `json:"key"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

func (i Ignored) String() string { return fmt.Sprintf("line %d: %s: %s", i.Line, i.Key, i.Why) }

// Read reads the file of a project. No link is followed.
func Read(o Options) (*Config, error) {
	for _, f := range files {
		data, err := readBounded(o.Project, f[0], f[1])
		switch file := filepath.Join(o.Project, f[0], f[1]); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		default:
			c, err := Parse(data, o)
			if err != nil {
				return nil, fmt.Errorf("%s:%w", file, err)
			}
			c.File = file
			return c, nil
		}
	}
	return &Config{}, nil
}

func readBounded(project, dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path := name
	if dir != "." {
		switch st, err := root.Lstat(dir); {
		case err != nil:
			return nil, err
		case !st.IsDir():
			return nil, fs.ErrNotExist
		}
		path = dir + "/" + name
	}
	before, err := root.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	f, err := root.OpenFile(path, os.O_RDONLY|hostfile.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, errors.New("it was replaced while it was read")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return data, err
}

// Parse takes what may be taken of a text: JSON with comments.
func Parse(data []byte, o Options) (*Config, error) {
	n, err := jsontree.ParseLoose(data)
	if err != nil {
		return nil, err
	}
	if n.Kind != jsontree.Object {
		return nil, fmt.Errorf("%d:%d: want an object, got %s", n.Line, n.Column, n.Kind)
	}
	r := &reader{o: o, c: &Config{Env: map[string]string{}}}
	for _, m := range n.Members {
		if err := r.member(m); err != nil {
			return nil, err
		}
	}
	return r.c, nil
}

type reader struct {
	o Options
	c *Config
}

func (r *reader) ignore(m jsontree.Member, why string) {
	if len(r.c.Ignored) == maxIgnored {
		r.c.Ignored[maxIgnored-1] = Ignored{"...", m.Line, "this and what stands below it"}
	}
	if len(r.c.Ignored) < maxIgnored {
		r.c.Ignored = append(r.c.Ignored, Ignored{shown(m.Name), m.Line, why})
	}
}

// shown is a key as it may stand in a message.
func shown(key string) string {
	if quoted := fmt.Sprintf("%.80q", key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}

func wrong(m jsontree.Member, n *jsontree.Node, want string) error {
	return fmt.Errorf("%d:%d: %s: want %s, got %s", n.Line, n.Column, m.Name, want, n.Kind)
}

// never are keys that a project cannot set, with the reason.
var never = map[string]string{
	"build":             "an image is built by the user: carrel container build --file",
	"dockerFile":        "an image is built by the user: carrel container build --file",
	"context":           "an image is built by the user: carrel container build --context",
	"dockerComposeFile": "there is one container, and no service beside it",
	"service":           "there is one container, and no service beside it",
	"runServices":       "there is one container, and no service beside it",
	"features":          "features run as root while an image is built; put them into your Dockerfile",
	"mounts":            "what is mounted is the user's to say: extra_mounts",
	"workspaceMount":    "the project is mounted at its own path",
	"workspaceFolder":   "commands start where they were started outside",
	"runArgs":           "arguments of the engine would change the walls",
	"privileged":        "it would widen rights",
	"capAdd":            "it would widen rights",
	"securityOpt":       "it would widen rights",
	"init":              "the first process of a container is Carrel's stage",
	"forwardPorts":      "ports are the user's to publish: network.publish",
	"appPort":           "ports are the user's to publish: network.publish",
	"initializeCommand": "it would run on the host, outside of the walls",
	"hostRequirements":  "what this machine gives is the user's to say: resources",
	"secrets":           "variables of the user's are passed by environment.pass",
	"overrideCommand":   "the first process of a container is Carrel's stage",
}

// silent are keys that change nothing about a container.
var silent = map[string]bool{"$schema": true, "name": true, "customizations": true, "portsAttributes": true, "otherPortsAttributes": true,
	"shutdownAction": true, "userEnvProbe": true, "updateRemoteUserUID": true, "waitFor": true, "overrideFeatureInstallOrder": true}

// lifecycle are the keys of commands, in the order in which they are run.
var lifecycle = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}

func (r *reader) member(m jsontree.Member) error {
	switch why, known := never[m.Name]; {
	case known:
		if off(m.Value) {
			return nil
		}
		r.ignore(m, why)
		return nil
	case silent[m.Name]:
		return nil
	}
	switch m.Name {
	case "image":
		return r.image(m)
	case "remoteUser", "containerUser":
		return r.user(m)
	case "remoteEnv", "containerEnv":
		return r.environment(m)
	}
	for _, key := range lifecycle {
		if m.Name == key {
			return r.commands(m)
		}
	}
	r.ignore(m, "the key is not known")
	return nil
}

// off reports whether a value asks for nothing.
func off(n *jsontree.Node) bool {
	return n.Kind == jsontree.Null || n.Kind == jsontree.Bool && !n.True ||
		(n.Kind == jsontree.List || n.Kind == jsontree.Object) && len(n.Items)+len(n.Members) == 0
}

func (r *reader) image(m jsontree.Member) error {
	if m.Value.Kind != jsontree.String {
		return wrong(m, m.Value, "text")
	}
	if r.o.Image == nil || !r.o.Image(m.Value.Text) {
		r.ignore(m, fmt.Sprintf("container.images of your configuration does not allow %.200q", m.Value.Text))
		return nil
	}
	r.c.Image = m.Value.Text
	return nil
}

var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`) })

// user takes a name. remoteUser is that of commands, and so comes before containerUser.
func (r *reader) user(m jsontree.Member) error {
	n := m.Value
	switch {
	case n.Kind != jsontree.String:
		return wrong(m, n, "text")
	case n.Text == "root" || strings.Trim(n.Text, "0123456789") == "":
		r.ignore(m, "commands have the ids of the user outside")
	case !userName().MatchString(n.Text):
		r.ignore(m, fmt.Sprintf("%.40q is no name of a user", n.Text))
	case m.Name == "remoteUser" || r.c.User == "":
		r.c.User = n.Text
	}
	return nil
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })

// environment takes variables that the user lets projects set, and null, which takes one away.
func (r *reader) environment(m jsontree.Member) error {
	if m.Value.Kind != jsontree.Object {
		return wrong(m, m.Value, "an object")
	}
	for _, v := range m.Value.Members {
		key := jsontree.Member{Name: m.Name + "." + v.Name, Line: v.Line, Column: v.Column}
		switch n := v.Value; {
		case !variableName().MatchString(v.Name):
			r.ignore(jsontree.Member{Name: m.Name, Line: v.Line}, fmt.Sprintf("%.40q is no name of a variable", v.Name))
		case n.Kind == jsontree.Null:
			r.c.Drop = append(r.c.Drop, v.Name)
		case n.Kind != jsontree.String:
			return wrong(key, n, "text")
		case r.o.Env == nil || !r.o.Env(v.Name):
			r.ignore(key, "container.project_env of your configuration does not allow this variable")
		case len(n.Text) > maxVariable || strings.ContainsRune(n.Text, 0):
			r.ignore(key, "its value is too long, or no text")
		default:
			value, ok := r.expand(n.Text)
			if !ok {
				r.ignore(key, "it takes the value of a variable, which is not known here")
				continue
			}
			if _, set := r.c.Env[v.Name]; !set || m.Name == "remoteEnv" {
				r.c.Env[v.Name] = value
			}
		}
	}
	return nil
}

// expand puts the project's path in. Variables of the host are the user's own.
func (r *reader) expand(text string) (string, bool) {
	for _, name := range []string{"localWorkspaceFolder", "containerWorkspaceFolder"} {
		text = strings.ReplaceAll(text, "${"+name+"}", r.o.Project)
		text = strings.ReplaceAll(text, "${"+name+"Basename}", filepath.Base(r.o.Project))
	}
	return text, !strings.Contains(text, "${localEnv") && !strings.Contains(text, "${containerEnv") && !strings.Contains(text,
		"${devcontainerId")
}
