package clients

import (
	"fmt"
	"slices"

	"carrel/internal/settings"
)

// heeded sees that the client takes what is written for it: a block that it does not read
// is refused, since whoever wants one relies on it.
func (w *work) heeded(gate bool) error {
	if w.c.name != "claude" || w.p.settings == "" {
		return nil
	}
	e, err := w.at(w.p.settings)
	if err != nil || e.before == nil {
		return err
	}
	why := unheeded(e.before, gate || !w.r.Block)
	switch {
	case why == "":
		return nil
	case gate || w.r.Block:
		return fmt.Errorf("%s: %s, so that nothing would be blocked\nhint: mend that first", w.p.settings, why)
	}
	w.notes = append(w.notes, w.p.settings+": "+why)
	return nil
}

// unheeded says why Claude Code takes no notice of its settings, or of its hooks, "" where
// it does.
func unheeded(text []byte, hooks bool) string {
	d, err := settings.ParseJSON(text)
	if err != nil {
		return ""
	}
	if line := d.Extra(); line > 0 {
		return fmt.Sprintf("Claude Code reads plain JSON and ignores the whole file for the comment or comma in line %d", line)
	}
	if off, _ := d.Tree()["disableAllHooks"].(bool); off && hooks {
		return "disableAllHooks is set: Claude Code runs no hook"
	}
	return ""
}

// block denies the client's own tools where that is a setting, or takes our part
// of that away.
func (w *work) block() error {
	if w.p.blocker != "" {
		if w.r.Block {
			return w.put(w.p.blocker, noEnvironment)
		}
		return w.take(w.p.blocker, noEnvironment)
	}
	if w.c.deny == nil {
		return nil
	}
	if !w.r.Block {
		return w.allow()
	}
	return w.change(w.p.settings, func(text []byte) ([]byte, error) {
		have, err := denied(text)
		if err != nil {
			return nil, err
		}
		mine := w.old.Deny
		w.next.DenyKnown = w.old.DenyKnown
		if len(mine) == 0 {
			w.next.DenyKnown = knownIn(text, denyPath, false)
		}
		for _, tool := range w.c.deny {
			if slices.Contains(have, tool) {
				if slices.Contains(mine, tool) {
					w.next.Deny = append(w.next.Deny, tool)
				}
				continue
			}
			d, err := settings.ParseJSON(text)
			if err != nil {
				return nil, err
			}
			if text, err = d.Append(denyPath, tool); err != nil {
				return nil, err
			}
			w.next.Deny = append(w.next.Deny, tool)
		}
		return text, nil
	})
}

// allow takes out what we denied, the last one of each name: ours went to the end.
func (w *work) allow() error {
	mine := w.old.Deny
	if len(mine) == 0 {
		return nil
	}
	return w.change(w.p.settings, func(text []byte) ([]byte, error) {
		for _, tool := range slices.Backward(mine) {
			have, err := denied(text)
			if err != nil {
				return nil, err
			}
			at := -1
			for i, h := range have {
				if h == tool {
					at = i
				}
			}
			if at < 0 {
				continue
			}
			d, err := settings.ParseJSON(text)
			if err != nil {
				return nil, err
			}
			text = d.CutElement(denyPath, at, w.old.DenyKnown)
		}
		return text, nil
	})
}

var denyPath = []string{"permissions", "deny"}

// knownIn is how many containers of a path are there before us.
func knownIn(text []byte, path []string, toml bool) int {
	if d, err := settings.ParseJSON(text); !toml && text != nil && err == nil {
		return d.Known(path)
	}
	return 0
}

// denied lists the denied tools; what is no string counts as "".
func denied(text []byte) ([]string, error) {
	d, err := settings.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	permissions, _ := d.Tree()["permissions"].(map[string]any)
	list, _ := permissions["deny"].([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out, nil
}
