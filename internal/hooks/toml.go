package hooks

import (
	"fmt"
	"slices"
	"strconv"

	"carrel/internal/settings"
)

// tomlDocument is a text of TOML. Groups and handlers are looked for as tables
// ([[hooks.EVENT]] and [[hooks.EVENT.hooks]]), as we and people write them.
type tomlDocument struct {
	*settings.TOML
	groups map[string][]tomlGroup // by event
}

// tomlGroup is a group written as tables.
type tomlGroup struct {
	header   settings.Section
	handlers []settings.Section
}

func parseTOML(text []byte) (document, error) {
	t, err := settings.ParseTOML(text)
	if err != nil {
		return nil, err
	}
	d := &tomlDocument{TOML: t, groups: map[string][]tomlGroup{}}
	for _, s := range t.Sections() {
		if !s.List || len(s.Key) < 2 || s.Key[0] != "hooks" {
			continue
		}
		groups := d.groups[s.Key[1]]
		switch {
		case len(s.Key) == 2:
			d.groups[s.Key[1]] = append(groups, tomlGroup{header: s})
		case len(s.Key) == 3 && s.Key[2] == "hooks" && len(groups) > 0:
			g := &groups[len(groups)-1]
			g.handlers = append(g.handlers, s)
		}
	}
	return d, nil
}

func (d *tomlDocument) tree() map[string]any { return d.Tree() }

// insert adds a group with one handler at the end of the file.
func (d *tomlDocument) insert(event string, h handler) ([]byte, error) {
	key := "hooks." + event
	if !d.Takes("[[" + key + "]]\n") {
		where := key
		if !d.Sets(key) {
			where = "hooks"
		}
		return nil, d.Problem(where, "%s: only tables [[%s]] can be added to; write it so, or add the hooks by hand", where, key)
	}
	return d.Append("[[" + key + "]]\n" +
		"[[" + key + ".hooks]]\n" +
		"type = \"command\"\n" +
		"command = " + strconv.Quote(h.command) + "\n" +
		"timeout = " + strconv.Itoa(h.timeout) + "\n"), nil
}

// remove takes out the handler's lines, and those of its group when nothing
// else is in it, with the blank line before.
func (d *tomlDocument) remove(e entry) ([]byte, error) {
	groups := d.groups[e.event]
	decoded, _ := d.Tree()["hooks"].(map[string]any)[e.event].([]any)
	if len(groups) != len(decoded) || len(groups[e.group].handlers) != len(handlersOf(decoded[e.group])) {
		return nil, d.Problem("hooks."+e.event, "hooks.%s is not written as tables [[hooks.%s]]: take our entry out by hand", e.event, e.event)
	}
	g, group := groups[e.group], decoded[e.group].(map[string]any)
	if len(g.handlers) == 1 && onlyOurs(group) {
		return d.Cut(false, g.header, g.handlers[0]), nil
	}
	return d.Cut(true, g.handlers[e.handler]), nil
}

func (d *tomlDocument) last(list []entry) entry {
	return slices.MaxFunc(list, func(a, b entry) int { return d.place(a) - d.place(b) })
}

// place is where an entry's table begins, -1 where it is written otherwise.
func (d *tomlDocument) place(e entry) int {
	groups := d.groups[e.event]
	if e.group >= len(groups) || e.handler >= len(groups[e.group].handlers) {
		return -1
	}
	return groups[e.group].handlers[e.handler].Start
}

// trusted tells whether Codex has noted that the user looked at an entry. The
// note stands in config.toml, under the file, the event and the two numbers.
func trusted(state map[string]any, file string, e entry) bool {
	note, _ := state[fmt.Sprintf("%s:%s:%d:%d", file, snake(e.event), e.group, e.handler)].(map[string]any)
	hash, _ := note["trusted_hash"].(string)
	return hash != ""
}

// snake writes PreToolUse as pre_tool_use.
func snake(s string) string {
	var out []byte
	for i, c := range []byte(s) {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out = append(out, '_')
			}
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return string(out)
}
