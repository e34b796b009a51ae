package policy

// Switch is whether a built-in command of the workspace reaches the person outside.
// Widening order: off < on.
type Switch string

const (
	SwitchOff Switch = "off"
	SwitchOn  Switch = "on"
)

// LinkMode is what becomes of a link that a program inside wants opened.
// Widening order: none < show < browser.
type LinkMode string

const (
	LinksNone    LinkMode = "none"    // it is refused
	LinksShow    LinkMode = "show"    // it is kept for the person outside
	LinksBrowser LinkMode = "browser" // and opened in their browser
)

// virtual decides what the built-in commands of a workspace may do outside: each a
// request of one kind with a few checked values, never a program.
func (d *decision) virtual() {
	d.out.Sound = d.oneSwitch(DimSound, func(r *Request) *Value[Switch] { return r.Sound }, func(c *Ceiling) *Value[Switch] { return c.Sound })
	d.out.Notify = d.oneSwitch(DimNotify, func(r *Request) *Value[Switch] { return r.Notify }, func(c *Ceiling) *Value[Switch] { return c.Notify })
	c := settle(d, dimension[LinkMode]{
		name: DimLinks, initial: LinksShow,
		wider: byRank(linkRank), known: inRank(linkRank), text: func(m LinkMode) string { return string(m) },
		asked: func(r *Request) *Value[LinkMode] { return r.OpenURLs },
		bound: func(c *Ceiling) *Value[LinkMode] { return c.OpenURLs },
	})
	d.out.OpenURLs = c.V
	because(d, DimLinks, string(c.V), c)
}

func (d *decision) oneSwitch(name Dimension, asked func(*Request) *Value[Switch], bound func(*Ceiling) *Value[Switch]) Switch {
	dim := dimension[Switch]{
		name: name, initial: SwitchOn,
		wider: byRank(switchRank), known: inRank(switchRank), text: func(s Switch) string { return string(s) },
		asked: asked, bound: bound,
	}
	c := settle(d, dim)
	// A profile or preset that wants quiet gets it, also from somebody whose own
	// configuration says on.
	for _, l := range d.layers {
		if v := asked(&l.Request); l.Kind == LayerProfile && v != nil && dim.known(v.V) && dim.wider(c.V, v.V) {
			c = choice[Switch]{Value: stamp(l, *v)}
		}
	}
	because(d, name, string(c.V), c)
	return c.V
}

func switchRank(s Switch) int { return rankOf(s, SwitchOff, SwitchOn) }

func linkRank(m LinkMode) int { return rankOf(m, LinksNone, LinksShow, LinksBrowser) }
