package hooks

import (
	"slices"

	"carrel/internal/settings"

	"github.com/tailscale/hujson"
)

// jsonDocument is a text of JSON, with comments and trailing commas.
type jsonDocument struct{ *settings.JSON }

func parseJSON(text []byte) (document, error) {
	j, err := settings.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	d := &jsonDocument{j}
	return d, d.checkNames()
}

func (d *jsonDocument) tree() map[string]any { return d.Tree() }

// checkNames refuses a name that stands twice where we look for it: programs
// take the first or the last, and an edit could change the other one.
func (d *jsonDocument) checkNames() error {
	if err := d.Unique(d.Root(), "hooks"); err != nil {
		return err
	}
	events, ok := settings.ValueOf(d.Root(), "hooks").(*hujson.Object)
	if !ok {
		return nil
	}
	for _, m := range events.Members {
		if err := d.Unique(events, settings.NameOf(m)); err != nil {
			return err
		}
		groups, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for _, g := range groups.Elements {
			if err := d.checkGroup(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *jsonDocument) checkGroup(v hujson.Value) error {
	group, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	if err := d.Unique(group, "hooks"); err != nil {
		return err
	}
	handlers, ok := settings.ValueOf(group, "hooks").(*hujson.Array)
	if !ok {
		return nil
	}
	for _, h := range handlers.Elements {
		if o, ok := h.Value.(*hujson.Object); ok {
			if err := d.Unique(o, "command"); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert adds a group with one handler at the end of an event's list.
func (d *jsonDocument) insert(event string, h handler) ([]byte, error) {
	return d.Append([]string{"hooks", event}, settings.Object{{Name: "hooks", Value: settings.List{settings.Object{
		{Name: "type", Value: "command"}, {Name: "command", Value: h.command}, {Name: "timeout", Value: h.timeout},
	}}}})
}

// remove takes out the handler, and with it what held nothing else and was not
// there before us.
func (d *jsonDocument) remove(e entry) ([]byte, error) {
	path := []string{"hooks", e.event}
	group := d.Member(path).Value.(*hujson.Array).Elements[e.group].Value.(*hujson.Object)
	i := slices.IndexFunc(group.Members, func(m hujson.ObjectMember) bool { return settings.NameOf(m) == "hooks" })
	handlers := group.Members[i].Value
	if len(handlers.Value.(*hujson.Array).Elements) > 1 || !plainGroup(group) {
		return d.CutOnly(handlers, e.handler), nil
	}
	return d.CutElement(path, e.group, 0), nil
}

// plainGroup is onlyOurs for the parsed text.
func plainGroup(group *hujson.Object) bool {
	return !slices.ContainsFunc(group.Members, func(m hujson.ObjectMember) bool {
		return settings.NameOf(m) != "hooks" && settings.NameOf(m) != "matcher"
	})
}

func (d *jsonDocument) last(list []entry) entry {
	return slices.MaxFunc(list, func(a, b entry) int { return d.place(a) - d.place(b) })
}

func (d *jsonDocument) place(e entry) int {
	group := d.Member([]string{"hooks", e.event}).Value.(*hujson.Array).Elements[e.group].Value.(*hujson.Object)
	return settings.ValueOf(group, "hooks").(*hujson.Array).Elements[e.handler].StartOffset
}
