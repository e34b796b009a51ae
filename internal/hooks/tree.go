package hooks

import (
	"fmt"
	"maps"
	"slices"
)

// document is a settings file that could be parsed.
type document interface {
	// tree is all of it, decoded.
	tree() map[string]any
	// insert adds an entry to an event and gives the new text.
	insert(event string, h handler) ([]byte, error)
	// remove takes an entry out and gives the new text.
	remove(e entry) ([]byte, error)
	// last gives the entry that stands last in the text, of those given.
	last(list []entry) entry
}

// handler is what is written of one.
type handler struct {
	command string
	timeout int // in the agent's unit
}

// entry is a place in the tree: the handler's number in its group, and the
// group's number in the list of its event.
type entry struct {
	event          string
	group, handler int
	verb           string
}

// parse reads a text of a format. nil is a file that is not there.
func parse(format int, text []byte) (document, error) {
	if format == formatTOML {
		return parseTOML(text)
	}
	return parseJSON(text)
}

// entries finds our handlers in a tree, in an order of their own.
func entries(tree map[string]any, program string) []entry {
	var found []entry
	events, _ := tree["hooks"].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		groups, _ := events[event].([]any)
		for g, group := range groups {
			for h, handler := range handlersOf(group) {
				if verb := verbOf(commandOf(handler), program); verb != "" {
					found = append(found, entry{event, g, h, verb})
				}
			}
		}
	}
	return found
}

func handlersOf(group any) []any {
	m, _ := group.(map[string]any)
	list, _ := m["hooks"].([]any)
	return list
}

func commandOf(handler any) string {
	m, _ := handler.(map[string]any)
	command, _ := m["command"].(string)
	return command
}

// missing are the moments that have no entry.
func (a *agent) missing(have []entry) []moment {
	var out []moment
	for _, m := range a.events {
		if !slices.ContainsFunc(have, func(e entry) bool { return e.event == m.event && e.verb == m.verb }) {
			out = append(out, m)
		}
	}
	return out
}

// foreign describes a tree without our entries, and without the groups, lists
// and tables that hold nothing then. Two texts whose foreign parts are the same
// say the same to everybody but us.
func foreign(tree map[string]any, program string) string {
	out := maps.Clone(tree)
	if events, ok := tree["hooks"].(map[string]any); ok {
		kept := map[string]any{}
		for event, groups := range events {
			if list, ok := groups.([]any); ok {
				list = foreignGroups(list, program)
				if len(list) == 0 {
					continue
				}
				groups = list
			}
			kept[event] = groups
		}
		if len(kept) > 0 {
			out["hooks"] = kept
		} else {
			delete(out, "hooks")
		}
	}
	return fmt.Sprintf("%#v", out)
}

func foreignGroups(groups []any, program string) []any {
	var out []any
	for _, group := range groups {
		handlers := handlersOf(group)
		kept := slices.DeleteFunc(slices.Clone(handlers), func(h any) bool { return verbOf(commandOf(h), program) != "" })
		m, _ := group.(map[string]any)
		switch {
		case len(kept) == len(handlers):
			out = append(out, group)
		case len(kept) == 0 && onlyOurs(m):
		default:
			m = maps.Clone(m)
			m["hooks"] = kept
			out = append(out, m)
		}
	}
	return out
}

// onlyOurs tells whether a group says nothing without its handlers.
func onlyOurs(group map[string]any) bool {
	for key := range group {
		if key != "hooks" && key != "matcher" {
			return false
		}
	}
	return true
}

// install gives the text with all of an agent's entries in it.
func (a *agent) install(format int, text []byte, program string) ([]byte, error) {
	doc, err := parse(format, text)
	if err != nil {
		return nil, err
	}
	before := foreign(doc.tree(), program)
	for _, m := range a.missing(entries(doc.tree(), program)) {
		if text, err = doc.insert(m.event, handler{a.commandLine(program, m.verb), hookTimeout * a.second}); err != nil {
			return nil, err
		}
		if doc, err = parse(format, text); err != nil {
			return nil, fmt.Errorf("adding to %s would break the file: %w\nhint: add the hooks by hand: %s", m.event, err, a.commandLine(program, m.verb))
		}
	}
	if left := a.missing(entries(doc.tree(), program)); len(left) > 0 || foreign(doc.tree(), program) != before {
		return nil, fmt.Errorf("adding hooks would change other settings: add them by hand: %s", a.commandLine(program, verbBegin))
	}
	return text, nil
}

// uninstall gives the text without any of our entries. They go last first, as
// they came.
func uninstall(format int, text []byte, program string) ([]byte, error) {
	doc, err := parse(format, text)
	if err != nil {
		return nil, err
	}
	before := foreign(doc.tree(), program)
	for list := entries(doc.tree(), program); len(list) > 0; list = entries(doc.tree(), program) {
		e := doc.last(list)
		if text, err = doc.remove(e); err != nil {
			return nil, err
		}
		if doc, err = parse(format, text); err != nil {
			return nil, fmt.Errorf("taking the entry of %s out would break the file: %w\nhint: take it out by hand", e.event, err)
		}
		if left := entries(doc.tree(), program); len(left) >= len(list) {
			return nil, fmt.Errorf("the entry of %s cannot be taken out: do it by hand", e.event)
		}
	}
	if foreign(doc.tree(), program) != before {
		return nil, fmt.Errorf("taking hooks out would change other settings: take them out by hand")
	}
	return text, nil
}
