package policy

import "fmt"

// opinion is what one layer says of the display, taken apart: may windows
// show on the host's desktop, and is there a virtual one.
type opinion struct {
	host    *Value[bool]
	virtual *Value[bool]
}

// displayDecision decides what is shown of a display.
type displayDecision struct{ of *decision }

// decide decides by rank: the strongest layer that says anything of the host
// desktop decides that, the strongest that says anything of the virtual one
// decides that; where both are on, the stronger of the two layers wins, and
// of one layer the tighter, virtual. Nobody: the persona decides.
func (s *displayDecision) decide() {
	human := s.of.out.Persona == Human
	c := s.displayOfLayers(human)
	asked := c.V
	c = underCeilings(s.of, displayDimension, c)
	if asked == DisplayHost && c.V == DisplayVirtual {
		// min(host, virtual) is no request for a server that nobody asked for.
		c.V = DisplayNone
	}
	c = s.displayOfProject(human, c)
	s.of.out.Display = c.V
	because(s.of, DimDisplay, string(c.V), c)
	s.watch()
	s.clipboard()
}

// clipboard decides whether programs inside may read the person's own.
func (s *displayDecision) clipboard() {
	c := settle(s.of, dimension[ClipboardMode]{
		name: DimClip, initial: ClipboardOwn,
		wider: byRank(clipboardRank), known: inRank(clipboardRank), text: func(m ClipboardMode) string { return string(m) },
		asked: func(r *Request) *Value[ClipboardMode] { return r.Clipboard },
		bound: func(c *Ceiling) *Value[ClipboardMode] { return c.Clipboard },
	})
	s.of.out.Clipboard = c.V
	if c.V != ClipboardOwn || c.Source.Layer != LayerDefault {
		because(s.of, DimClip, string(c.V), c)
	}
}

func clipboardRank(m ClipboardMode) int { return rankOf(m, ClipboardOwn, ClipboardPaste) }

var displayDimension = dimension[DisplayMode]{
	name:  DimDisplay,
	wider: byRank(displayRank), known: inRank(displayRank), text: func(m DisplayMode) string { return string(m) },
	bound: func(c *Ceiling) *Value[DisplayMode] { return c.Display },
}

func displayRank(m DisplayMode) int { return rankOf(m, DisplayNone, DisplayVirtual, DisplayHost) }

func (s *displayDecision) displayOfLayers(human bool) choice[DisplayMode] {
	var all opinion
	var note string
	for _, l := range s.of.layers {
		o, n := s.of.opinionOf(l, human)
		if n != "" {
			note = n
		}
		if all.host == nil {
			all.host = o.host
		}
		if all.virtual == nil {
			all.virtual = o.virtual
		}
	}
	if all.host == nil {
		text := "persona " + string(s.of.out.Persona)
		all.host = &Value[bool]{V: human, Source: Source{Layer: LayerDefault, Text: text}}
	}
	c := all.settle()
	c.note = note
	return c
}

func (o opinion) settle() choice[DisplayMode] {
	virtual := o.virtual != nil && o.virtual.V
	switch {
	case o.host.V && (!virtual || o.host.Source.Layer < o.virtual.Source.Layer):
		return choice[DisplayMode]{Value: Value[DisplayMode]{V: DisplayHost, Source: o.host.Source}}
	case virtual:
		return choice[DisplayMode]{Value: Value[DisplayMode]{V: DisplayVirtual, Source: o.virtual.Source}}
	}
	return choice[DisplayMode]{Value: Value[DisplayMode]{V: DisplayNone, Source: o.host.Source}}
}

// opinionOf reads one layer. An explicit mode beats the two switches of its
// own layer. A virtual display is for agents: a person has a desktop already.
func (d *findings) opinionOf(l Layer, human bool) (o opinion, note string) {
	r := l.Request
	if r.Display != nil {
		m := stamp(l, *r.Display)
		if displayRank(m.V) < 0 {
			d.fail(DimDisplay, m.Source, "display %q is not known: %s", string(m.V), choices[DimDisplay])
			return o, ""
		}
		o.host = &Value[bool]{V: m.V == DisplayHost, Source: m.Source}
		o.virtual = &Value[bool]{V: m.V == DisplayVirtual, Source: m.Source}
		return o, ""
	}
	if r.AllowDesktopGUI != nil {
		v := stamp(l, *r.AllowDesktopGUI)
		o.host = &v
	}
	if r.VirtualDisplay != nil {
		v := stamp(l, *r.VirtualDisplay)
		if human && v.V {
			return o, fmt.Sprintf("the virtual display (%s) is for agents and does not apply to persona human", v.Source)
		}
		o.virtual = &v
	}
	return o, note
}

// displayOfProject lets the project take the host's desktop away and turn the
// virtual display on, where no other layer spoke against it.
func (s *displayDecision) displayOfProject(human bool, c choice[DisplayMode]) choice[DisplayMode] {
	for _, l := range s.of.project {
		if v := l.Request.AllowDesktopGUI; v != nil && v.V {
			s.of.ignored(stamp(l, *v).Source, "allow_desktop_gui widens")
		}
		o, note := s.of.opinionOf(l, human)
		if note != "" {
			c.note = note
		}
		switch {
		case o.host != nil && o.host.V:
			if l.Request.Display != nil {
				s.of.ignored(o.host.Source, "the host's display widens")
			}
			continue
		case o.virtual != nil && o.virtual.V:
			c = s.projectVirtual(*o.virtual, c)
		case o.host != nil && c.V == DisplayHost:
			c = s.projectDisplay(o.host.Source, DisplayNone, c)
		case o.virtual != nil && c.V == DisplayVirtual:
			c = s.projectDisplay(o.virtual.Source, DisplayNone, c)
		}
	}
	return c
}

// projectVirtual turns the virtual display on, unless a ceiling or another
// layer's explicit mode says none.
func (s *displayDecision) projectVirtual(v Value[bool], c choice[DisplayMode]) choice[DisplayMode] {
	for _, ceiling := range s.of.ceilings {
		if b := ceiling.Display; b != nil && displayRank(b.V) < displayRank(DisplayVirtual) {
			s.of.ignored(v.Source, fmt.Sprintf("the ceiling %s allows display %s", b.Source, b.V))
			return c
		}
	}
	if by := s.virtualRefused(); by != nil && c.V == DisplayNone {
		s.of.ignored(v.Source, fmt.Sprintf("display none was asked for (%s)", *by))
		return c
	}
	if c.V == DisplayVirtual {
		return c
	}
	return s.projectDisplay(v.Source, DisplayVirtual, c)
}

// virtualRefused is the source of the strongest layer that turns the virtual
// display off, nil if none speaks of it.
func (s *displayDecision) virtualRefused() *Source {
	for _, l := range s.of.layers {
		if m := l.Request.Display; m != nil {
			if m.V == DisplayNone {
				s := stamp(l, *m).Source
				return &s
			}
			return nil
		}
		if v := l.Request.VirtualDisplay; v != nil {
			if !v.V {
				s := stamp(l, *v).Source
				return &s
			}
			return nil
		}
	}
	return nil
}

func (s *displayDecision) projectDisplay(by Source, to DisplayMode, c choice[DisplayMode]) choice[DisplayMode] {
	if c.V == DisplayNone {
		return choice[DisplayMode]{Value: Value[DisplayMode]{V: to, Source: by}, note: "turned on by the project file"}
	}
	s.of.overruled(DimDisplay, c.Source, string(c.V), string(to), by)
	note := fmt.Sprintf("tightened by the project file from %s (%s)", c.V, c.Source)
	return choice[DisplayMode]{Value: Value[DisplayMode]{V: to, Source: by}, note: note}
}

// watch decides whether a person may look at the virtual display over VNC. It
// opens a port, so a project file cannot ask for it.
func (s *displayDecision) watch() {
	get := func(r *Request) *Value[bool] { return r.WatchVNC }
	first, operator := strongest(s.of, DimDisplay, get, func(bool) bool { return true })
	on := first != nil && first.V
	if operator != nil {
		on = operator.V && (first == nil || first.V)
	}
	for _, l := range s.of.project {
		v := l.Request.WatchVNC
		if v == nil {
			continue
		}
		if v.V && !on {
			s.of.ignored(stamp(l, *v).Source, "watch_vnc widens")
		}
		on = on && v.V
	}
	s.of.out.WatchVNC = on && s.of.out.Display == DisplayVirtual
}
