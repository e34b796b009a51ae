package xfilter

// rule is what is looked at of one kind of request, and how it is decided.
type rule struct {
	name  string
	least int  // bytes that the decision takes; a shorter request is refused
	whole bool // the decision takes all of it, and refuses what is longer than maxHead
	check func(c *conn, r request) verdict
}

// need is how many bytes of the request have to be there.
func (l *rule) need() int {
	if l.whole {
		return maxHead
	}
	return max(l.least, 4)
}

// verdict is what becomes of a request.
type verdict int

const (
	pass    verdict = iota
	refuse          // an error comes back
	ignore          // nothing comes back, nothing happens
	quieten         // goes on; its reply is blank unless the workspace is active when it comes
	shorten         // goes on; its reply is a list that loses what is hidden
)

// never is refused in every mode.
func never(name string) *rule {
	return &rule{name: name, check: func(*conn, request) verdict { return refuse }}
}

// nothing does nothing in every mode.
func nothing(name string) *rule {
	return &rule{name: name, check: func(*conn, request) verdict { return ignore }}
}

// whileActive is refused, in the way given, unless the workspace is active.
func whileActive(name string, otherwise verdict) *rule {
	return &rule{name: name, check: func(c *conn, _ request) verdict { return c.unlessActive(otherwise) }}
}

// grab is a request for a grab of the window whose id is at off. A program's own
// windows are its own; a grab on another's takes input away from that.
func grab(name string, off int) *rule {
	return &rule{name: name, least: off + 4, check: func(c *conn, r request) verdict {
		if c.inputOf(r.u32(off)) {
			return pass
		}
		return c.hold()
	}}
}

// onOwn is refused, in the way given, for windows of others unless the workspace
// is active.
func onOwn(name string, off int, otherwise verdict) *rule {
	return &rule{name: name, least: off + 4, check: func(c *conn, r request) verdict {
		if c.owns(r.u32(off)) {
			return pass
		}
		return c.unlessActive(otherwise)
	}}
}

// fenced is refused for windows of clients that are not behind the filter: the
// window manager's, the supervisor's.
func fenced(name string) *rule { return &rule{name: name, least: 8, check: checkFenced} }

func checkFenced(c *conn, r request) verdict {
	if w := r.u32(4); c.owns(w) || c.filter.inside(w) {
		return pass
	}
	return refuse
}
