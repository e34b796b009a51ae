package a11y

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes one line for each node, two spaces deeper than its parent's:
//
//	:1.7:42 push button "Save" [enabled focusable] 10,20 80x24 do click
//
// What programs say stands in quotes, in ASCII: it can move no cursor and begin no
// line of its own. A value is written as "= current (min..max)", a text as
// text "..." with the number of its characters where there are more.
func (t *Tree) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, a := range t.Apps {
		fmt.Fprintf(out, "%s application %+q pid %d", a.Ref, a.Name, a.PID)
		if a.Toolkit != "" {
			fmt.Fprintf(out, " toolkit %+q", a.Toolkit)
		}
		if a.Problem != "" {
			fmt.Fprintf(out, " (incomplete: %+q)", a.Problem)
		}
		out.WriteByte('\n')
		for n := range a.All {
			if n.depth > 0 {
				out.WriteString(strings.Repeat("  ", n.depth))
				out.WriteString(n.String())
				out.WriteByte('\n')
			}
		}
	}
	if t.Problem != "" {
		fmt.Fprintf(out, "(incomplete: %+q)\n", t.Problem)
	}
	return out.Flush()
}

// dull are states that nearly every node is in: they say nothing in a line.
var dull = map[string]bool{"enabled": true, "sensitive": true, "showing": true, "visible": true, "opaque": true}

// String is the node's line, without those below.
func (n *Node) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", n.Ref, plain(n.Role))
	if n.Name != "" {
		fmt.Fprintf(&b, " %+q", n.Name)
	}
	var said []string
	for _, s := range n.States {
		if !dull[s] {
			said = append(said, s)
		}
	}
	if n.states != 0 && !n.Is("enabled") && !n.Is("sensitive") && n.faces&hasAction != 0 {
		said = append(said, "disabled")
	}
	if n.states != 0 && !n.Is("showing") {
		said = append(said, "hidden")
	}
	if len(said) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(said, ", "))
	}
	if r := n.Bounds; r != nil {
		fmt.Fprintf(&b, " %d,%d %dx%d", r.X, r.Y, r.Width, r.Height)
	}
	if v := n.Value; v != nil {
		fmt.Fprintf(&b, " = %g (%g..%g)", v.Current, v.Min, v.Max)
	}
	if n.Text != "" {
		fmt.Fprintf(&b, " text %+q", n.Text)
		if n.Characters > len([]rune(n.Text)) {
			fmt.Fprintf(&b, " of %d", n.Characters)
		}
	}
	if len(n.Actions) > 0 {
		fmt.Fprintf(&b, " do %+q", n.Actions)
	}
	if n.Description != "" {
		fmt.Fprintf(&b, " (%+q)", n.Description)
	}
	return b.String()
}

// plain writes a role, which is a name of ours or for once a program's own.
func plain(role string) string {
	if strings.Trim(role, "abcdefghijklmnopqrstuvwxyz 0123456789") == "" {
		return role
	}
	return fmt.Sprintf("%+q", role)
}

// WriteJSON writes the tree as one JSON object, nodes within their parents.
func (t *Tree) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(t)
}
