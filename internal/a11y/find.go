package a11y

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// Query says which nodes are meant; what is zero does not matter. Options bound
// the tree that is looked through.
type Query struct {
	Options
	Role     string         // AT-SPI's name of it, in any case
	Name     *regexp.Regexp // of the node's name
	Content  *regexp.Regexp // of its text, as far as the tree has it
	States   []string       // all of them; "!focused" is: not focused
	Within   *Rect          // all of the node lies in this part of the screen
	MaxFinds int            // 0 is all
}

// Match says whether a node is meant. It does not look at Options.
func (q *Query) Match(n *Node) bool {
	switch {
	case q.Role != "" && !strings.EqualFold(q.Role, n.Role):
		return false
	case q.Name != nil && !q.Name.MatchString(n.Name):
		return false
	case q.Content != nil && !q.Content.MatchString(n.Text):
		return false
	case q.Within != nil && (n.Bounds == nil || !q.Within.Contains(*n.Bounds)):
		return false
	}
	return !slices.ContainsFunc(q.States, func(s string) bool {
		name, not := strings.CutPrefix(s, "!")
		return n.Is(name) == not
	})
}

// Found are the nodes that a query means.
type Found struct {
	Nodes []*Node `json:"nodes"`
	// Problems are those of the tree: while there are any, what was not found may be there.
	Problems []string `json:"problems,omitempty"`
}

// Find looks through all that is there now.
func (b *Bus) Find(ctx context.Context, q Query) (*Found, error) {
	t, err := b.Tree(ctx, q.Options)
	if err != nil {
		return nil, err
	}
	return t.Find(q), nil
}

// Find looks through a tree.
func (t *Tree) Find(q Query) *Found {
	f := &Found{}
	if t.Problem != "" {
		f.Problems = append(f.Problems, t.Problem)
	}
	for _, a := range t.Apps {
		if a.Problem != "" {
			f.Problems = append(f.Problems, a.Ref.String()+" "+a.Name+": "+a.Problem)
		}
		for n := range a.All {
			if q.MaxFinds > 0 && len(f.Nodes) == q.MaxFinds {
				return f
			}
			if q.Match(n) {
				f.Nodes = append(f.Nodes, n)
			}
		}
	}
	return f
}
