package a11y

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/dbus"
)

// together is how many nodes are asked about in one write: enough that a program
// has always something to do, few enough for the queues of the bus.
const together = 200

// walk reads one application level by level, as wide as it is, with a list and
// no recursion.
type walk struct {
	bus     *Bus
	options Options
	left    *nodeBudget
	app     *Application
	cache   map[Ref]*item
	seen    map[Ref]bool
	bytes   int // of texts so far
}

// boundError is an end that is the tree's bound, not the program's fault.
type boundError string

func (e boundError) Error() string { return string(e) }

func (w *walk) run(ctx context.Context) error {
	root := &Node{Ref: w.app.Ref}
	w.seen[root.Ref] = true
	w.app.Root, w.app.Nodes = root, 1
	// Without the cache all is asked for piece by piece, so it has not all the time.
	soon, cancel := context.WithTimeout(ctx, w.options.Time/3)
	w.cache, _ = w.bus.items(soon, w.app.Ref.bus, w.options.Nodes)
	cancel()
	var told error
	for level := []*Node{root}; len(level) > 0; {
		var next []*Node
		for len(level) > 0 {
			n := min(together, len(level))
			children, err := w.read(ctx, level[:n])
			next = append(next, children...)
			var bound boundError
			if errors.As(err, &bound) {
				told = err // the nodes that there are still get what belongs to them
			} else if err != nil {
				return err
			}
			level = level[n:]
		}
		level = next
	}
	return told
}

// read asks for all of some nodes and returns their children, empty yet. The
// error may be a boundError; the children are right then too.
func (w *walk) read(ctx context.Context, nodes []*Node) ([]*Node, error) {
	for _, stage := range []func(*asked, *Node){w.identity, w.offers, w.details, w.texts} {
		a := asked{}
		for _, n := range nodes {
			stage(&a, n)
		}
		if err := a.run(ctx, w.bus.conn); err != nil {
			return nil, err
		}
	}
	var next []*Node
	for _, n := range nodes {
		if w.leftOut(n) {
			n.parent.Children = slices.DeleteFunc(n.parent.Children, func(c *Node) bool { return c == n })
			w.app.Nodes--
			continue
		}
		children, err := w.children(ctx, n)
		next = append(next, children...)
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// asked are questions with what to do with the answers.
type asked struct {
	calls []*dbus.Call
	then  []func([]any)
}

func (a *asked) add(c *dbus.Call, then func([]any)) {
	a.calls = append(a.calls, c)
	a.then = append(a.then, then)
}

// run asks all at once. A refusal leaves its answer out: nodes go away while they
// are read, and programs offer interfaces that they do not have. The error is of
// the connection or of ctx.
func (a *asked) run(ctx context.Context, c *dbus.Conn) error {
	if len(a.calls) == 0 {
		return nil
	}
	if err := c.Begin(a.calls...); err != nil {
		return err
	}
	for i, q := range a.calls {
		vs, err := c.Wait(ctx, q)
		if err == nil {
			a.then[i](vs)
		} else if ctx.Err() != nil {
			c.Forget(a.calls[i:]...)
			return err
		}
	}
	return nil
}

// identity asks for what says what a node is, where the cache does not.
func (w *walk) identity(a *asked, n *Node) {
	if it := w.cache[n.Ref]; it != nil {
		n.Role, n.states, n.faces = roleName(it.role), it.states, it.faces
		n.Name, n.Description = w.text(strings.TrimSpace(it.name), maxString), w.text(it.description, maxString)
		n.known, n.complete = it.children, it.complete
		if it.role == roleExtended {
			w.ownRole(a, n)
		}
		return
	}
	a.add(n.Ref.ask(accessibleFace, "GetRole", "u"), func(vs []any) {
		role, _ := vs[0].(uint32)
		n.Role = roleName(role)
	})
	a.add(n.Ref.ask(accessibleFace, "GetState", "au"), func(vs []any) { n.states = stateSet(vs[0]) })
	a.add(n.Ref.property(accessibleFace, "Name", "s"), func(vs []any) { n.Name = w.text(strings.TrimSpace(stringOf(vs)), maxString) })
}

// content are roles of what is only looked at, by far the most nodes of a page.
// Where the cache does not say what they offer they are taken to offer a place and
// nothing else: each question costs as much as a node of the cache.
var content = map[string]bool{
	"static": true, "paragraph": true, "section": true, "panel": true, "filler": true, "heading": true, "list": true, "list item": true,
	"separator": true, "table row": true, "grouping": true, "article": true, "landmark": true, "image": true, "block quote": true,
	"description list": true, "description term": true, "description value": true, "superscript": true, "subscript": true, "mark": true,
}

// offers asks what a node offers that the cache does not tell of.
func (w *walk) offers(a *asked, n *Node) {
	if w.cache[n.Ref] != nil {
		return
	}
	if content[n.Role] && n.states&(stateFocusable|stateEditable) == 0 {
		n.faces = hasComponent
		if n.Name == "" && (n.Role == "paragraph" || n.Role == "static") {
			n.faces |= hasText
		}
		return
	}
	a.add(n.Ref.ask(accessibleFace, "GetInterfaces", "as"), func(vs []any) { n.faces = faceSet(vs[0]) })
	a.add(n.Ref.property(accessibleFace, "Description", "s"), func(vs []any) { n.Description = w.text(stringOf(vs), maxString) })
}

func (w *walk) ownRole(a *asked, n *Node) {
	a.add(n.Ref.ask(accessibleFace, "GetRoleName", "s"), func(vs []any) {
		if s := w.text(stringOf(vs), maxName); s != "" {
			n.Role = s
		}
	})
}

// details asks for what the node's interfaces offer, and for its children.
func (w *walk) details(a *asked, n *Node) {
	n.States = n.states.names()
	w.listChildren(a, n)
	if n.faces&hasComponent != 0 {
		// 0 is: relative to the screen.
		a.add(n.Ref.ask(componentFace, "GetExtents", "(iiii)", uint32(0)), func(vs []any) { n.Bounds = rectOf(vs[0]) })
	}
	if n.faces&hasAction != 0 {
		a.add(n.Ref.ask(actionFace, "GetActions", "a(sss)"), func(vs []any) {
			for _, s := range actionNames(vs[0]) {
				n.Actions = append(n.Actions, w.text(s, maxName))
			}
		})
	}
	if n.faces&hasValue != 0 {
		n.Value = &Value{}
		for name, to := range map[string]*float64{"CurrentValue": &n.Value.Current, "MinimumValue": &n.Value.Min, "MaximumValue": &n.Value.Max} {
			a.add(n.Ref.property(valueFace, name, "d"), func(vs []any) {
				if v, ok := vs[0].(float64); ok && finite(v) {
					*to = v
				}
			})
		}
	}
	if w.wantsText(n) {
		a.add(n.Ref.property(textFace, "CharacterCount", "i"), func(vs []any) {
			count, _ := vs[0].(int32)
			n.Characters = int(max(count, 0))
		})
	}
}

// wantsText leaves out what only repeats a name, and what is a secret: a password
// is told by its characters' number at most, and that is nobody's business either.
func (w *walk) wantsText(n *Node) bool {
	return n.faces&hasText != 0 && (n.states&stateEditable != 0 || n.Name == "") && n.Role != "password text"
}

// texts asks for texts, and for the names of actions where the list of them is
// without, as Chromium's is.
func (w *walk) texts(a *asked, n *Node) {
	for i, name := range n.Actions {
		if name == "" {
			a.add(n.Ref.ask(actionFace, "GetName", "s", int32(i)), func(vs []any) { n.Actions[i] = w.text(stringOf(vs), maxName) })
		}
	}
	if n.Characters == 0 {
		return
	}
	end := int32(min(n.Characters, w.options.Text))
	a.add(n.Ref.ask(textFace, "GetText", "s", int32(0), end), func(vs []any) {
		// Where a child stands in a text there is a mark, and often nothing else.
		if s := stringOf(vs); strings.Trim(s, "\ufffc \n") != "" {
			n.Text = w.text(s, 4*w.options.Text)
		} else {
			n.Characters = 0
		}
	})
}

// listChildren asks who they are. A node that makes its children as they are asked
// for may say that it has millions: of that the first ones by number.
func (w *walk) listChildren(a *asked, n *Node) {
	switch {
	case n.complete || n.Role == "static": // a piece of text; its pieces are lines
	case n.states&stateManagesDescendants != 0:
		for i := range int32(maxRows) {
			a.add(n.Ref.ask(accessibleFace, "GetChildAtIndex", "(so)", i), func(vs []any) {
				n.known = append(n.known, refOf(vs[0]))
			})
		}
		n.known = nil
	default:
		n.known = nil
		a.add(n.Ref.ask(accessibleFace, "GetChildren", "a(so)"), func(vs []any) { n.known = refList(vs[0], w.options.Nodes+1) })
	}
}

// leftOut says whether a node is hidden and nobody asked for such: it says that it
// is not visible, or it does not show and has no place, like what a closed menu
// holds. What a page has been scrolled past does not show either, and has a place.
func (w *walk) leftOut(n *Node) bool {
	if w.options.Hidden || n.depth == 0 || n.states == 0 {
		return false
	}
	return n.states&stateVisible == 0 || n.states&stateShowing == 0 && n.Bounds == nil
}

// children makes nodes of those that are new. A child of another program, as an
// embedded page is, counts only if it says that it belongs here.
func (w *walk) children(ctx context.Context, n *Node) ([]*Node, error) {
	known := n.known
	n.known = nil
	var next []*Node
	for _, ref := range known {
		if !ref.valid() || w.seen[ref] {
			continue
		}
		w.seen[ref] = true
		if ref.bus != n.Ref.bus && !w.belongs(ctx, ref, n.Ref) {
			continue
		}
		switch {
		case n.depth >= w.options.Depth:
			return next, boundError(fmt.Sprintf("deeper than %d levels; what lies below is left out", w.options.Depth))
		case w.app.Nodes >= w.options.Nodes:
			return next, boundError(fmt.Sprintf("more than %d nodes; the rest is left out", w.options.Nodes))
		case w.bytes >= w.options.Bytes:
			return next, boundError(fmt.Sprintf("more than %d bytes of text; the rest is left out", w.options.Bytes))
		case !w.left.take():
			return next, boundError(fmt.Sprintf("all programs together have more than %d nodes; the rest is left out", maxTotal))
		}
		w.app.Nodes++
		child := &Node{Ref: ref, parent: n, depth: n.depth + 1}
		n.Children = append(n.Children, child)
		next = append(next, child)
	}
	return next, nil
}

func (w *walk) belongs(ctx context.Context, child, parent Ref) bool {
	vs, err := w.bus.conn.Ask(ctx, child.property(accessibleFace, "Parent", "(so)"))
	return err == nil && refOf(vs[0]) == parent
}

// text takes a program's word, clipped and counted.
func (w *walk) text(s string, most int) string {
	s = dbus.Clip(s, min(most, max(w.options.Bytes-w.bytes, 0)))
	w.bytes += len(s)
	return s
}
