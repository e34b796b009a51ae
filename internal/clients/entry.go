package clients

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/settings"
)

// maxWords bounds what is looked at of somebody's entry.
const maxWords = 64

// entry is a registered server: the words that start it. It is ours if it starts
// `carrel mcp` and names the client; that needs no record.
type entry struct {
	words []string
	there bool // something of that name is there
	more  bool // it says more than we write
}

func (e entry) ours(c *client, programs ...string) bool {
	if len(e.words) < 4 || !filepath.IsAbs(e.words[0]) || e.more {
		return false
	}
	if rest := e.words[4:]; len(rest) > 0 && (len(rest) != 2 || rest[0] != flagPermissions) {
		return false
	}
	base := filepath.Base(e.words[0])
	known := base == "carrel" || slices.ContainsFunc(programs, func(p string) bool { return p != "" && base == filepath.Base(p) })
	return known && e.words[1] == "mcp" && e.words[2] == "--client" && e.words[3] == c.name
}

// flagPermissions is the one flag that we write.
const flagPermissions = "--permissions"

// words start the server that a request registers.
func (r *Request) words(h Host) []string {
	words := []string{h.Program, "mcp", "--client", r.Client}
	if r.Permissions != "" {
		words = append(words, flagPermissions, r.Permissions)
	}
	return words
}

// find looks for the server of a name in the servers' file.
func (p *places) find(text []byte, name string) (entry, error) {
	if text == nil {
		return entry{}, nil
	}
	var tree map[string]any
	if p.toml {
		d, err := settings.ParseTOML(text)
		if err != nil {
			return entry{}, err
		}
		tree = d.Tree()
	} else {
		d, err := settings.ParseJSON(text)
		if err != nil {
			return entry{}, err
		}
		tree = d.Tree()
	}
	servers, _ := tree[p.key[0]].(map[string]any)
	one, there := servers[name]
	fields, _ := one.(map[string]any)
	more := false
	for _, key := range []string{"env", "environment", "cwd", "url", "headers"} {
		if v, ok := fields[key]; ok {
			m, isMap := v.(map[string]any)
			more = more || !isMap || len(m) > 0 // Claude Code writes an empty one
		}
	}
	return entry{wordsOf(fields), there, more}, nil
}

// wordsOf reads "command" and "args", or a command that is a list.
func wordsOf(fields map[string]any) []string {
	var words []string
	list, _ := fields["command"].([]any)
	if s, ok := fields["command"].(string); ok {
		list, _ = fields["args"].([]any)
		words = append(words, s)
	}
	for _, w := range list[:min(len(list), maxWords)] {
		s, ok := w.(string)
		if !ok {
			return nil
		}
		words = append(words, s)
	}
	return words
}

// register gives the servers' text with ours in it; old is what was there by the record.
func (p *places) register(c *client, h Host, text []byte, r *Request, old *setup) ([]byte, error) {
	e, err := p.find(text, r.Name)
	if err != nil {
		return nil, err
	}
	words := r.words(h)
	switch {
	case e.there && slices.Equal(e.words, words) && (!e.more || old.Program != ""): // or the user has added to ours
		return text, nil
	case e.there && !e.ours(c, h.Program, old.Program):
		return nil, fmt.Errorf("a server %q is there already, and is not one of carrel agent setup\nhint: take it out, or choose another name with --name", r.Name)
	case e.there:
		if text, err = p.unregister(text, r.Name, old.ServersKnown); err != nil {
			return nil, err
		}
	}
	if p.toml {
		return p.registerTOML(text, r.Name, words)
	}
	d, err := settings.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return d.Add(append(slices.Clone(p.key), r.Name), c.server(words))
}

func (c *client) server(words []string) settings.Value {
	list := func(words []string) (out settings.List) {
		for _, w := range words {
			out = append(out, w)
		}
		return out
	}
	if c.name == "opencode" {
		return settings.Object{{Name: "type", Value: "local"}, {Name: "command", Value: list(words)}, {Name: "enabled", Value: true}}
	}
	return settings.Object{{Name: "command", Value: words[0]}, {Name: "args", Value: list(words[1:])}}
}

// registerTOML writes the table of a server. Codex hands on few variables, and
// ours are where workspaces, settings and leases are.
func (p *places) registerTOML(text []byte, name string, words []string) ([]byte, error) {
	d, err := settings.ParseTOML(text)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, w := range words[1:] {
		args = append(args, strconv.Quote(w))
	}
	block := "[" + p.key[0] + "." + name + "]\ncommand = " + strconv.Quote(words[0]) + "\nargs = [" + strings.Join(args, ", ") + "]\n" +
		"env_vars = [\"XDG_RUNTIME_DIR\", \"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\"]\n"
	if !d.Takes(block) {
		return nil, d.Problem(p.key[0], "%s: a table [%s.%s] cannot be added here; write the servers as tables", p.key[0], p.key[0], name)
	}
	return d.Append(block), nil
}

// unregister gives the servers' text without the server of a name, which is
// there. What clients note about it in tables below it goes too: they could not
// read those without it.
func (p *places) unregister(text []byte, name string, known int) ([]byte, error) {
	if !p.toml {
		d, err := settings.ParseJSON(text)
		if err != nil {
			return nil, err
		}
		return d.CutMember(append(slices.Clone(p.key), name), known), nil
	}
	d, err := settings.ParseTOML(text)
	if err != nil {
		return nil, err
	}
	var ours []settings.Section
	for _, s := range d.Sections() {
		if len(s.Key) >= 2 && s.Key[0] == p.key[0] && s.Key[1] == name {
			ours = append(ours, s)
		}
	}
	if len(ours) == 0 {
		return nil, d.Problem(p.key[0]+"."+name, "%s.%s is not written as a table: take it out by hand", p.key[0], name)
	}
	out := d.Cut(false, ours...)
	if e, err := p.find(out, name); err != nil || e.there {
		return nil, errors.New("taking the server out would break the file: take it out by hand")
	}
	return out, nil
}
