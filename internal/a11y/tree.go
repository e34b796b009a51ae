package a11y

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"

	"carrel/internal/dbus"
)

// Options bound a tree. Zero stands for the default in brackets, and what is
// larger than the bound behind it is that bound.
type Options struct {
	App    *regexp.Regexp // only applications whose name matches; nil is all
	PID    uint32         // only the application of this process, as the bus inside sees it; 0 is all
	Depth  int            // levels below an application (64; 200)
	Nodes  int            // nodes of one application (5,000; 20,000)
	Bytes  int            // of names, descriptions and texts of one application (1 MiB; 8 MiB)
	Text   int            // characters of one node's text (500; 20,000)
	Time   time.Duration  // that one application has (3 s; 30 s)
	Hidden bool           // also what does not show, such as the items of a closed menu
}

// Bounds that are nobody's to set.
const (
	maxApps    = 64
	maxTotal   = 50_000 // nodes of one tree
	maxString  = 1000   // bytes of one name or description
	maxActions = 32     // of one node
	maxRows    = 200    // children of a node that makes them as they are asked for, such as a sheet
)

func (o Options) withDefaults() Options {
	bound := func(v *int, usual, most int) {
		if *v <= 0 {
			*v = usual
		}
		*v = min(*v, most)
	}
	bound(&o.Depth, 64, 200)
	bound(&o.Nodes, 5000, 20_000)
	bound(&o.Bytes, 1<<20, 8<<20)
	bound(&o.Text, 500, 20_000)
	if o.Time <= 0 {
		o.Time = 3 * time.Second
	}
	o.Time = min(o.Time, 30*time.Second)
	return o
}

// Tree is what all programs showed at one time.
type Tree struct {
	Apps []*Application `json:"apps"`
	// Problem says why there may be more applications than these, empty if there are not.
	Problem string `json:"problem,omitempty"`
}

// Application is one program on the accessibility bus.
type Application struct {
	Ref     Ref    `json:"ref"`
	Name    string `json:"name"`
	PID     uint32 `json:"pid,omitempty"` // as the bus sees it, so of the namespace inside; 0 where it does not say
	Toolkit string `json:"toolkit,omitempty"`
	// Problem says why the nodes are not all there are, empty if they are.
	Problem string `json:"problem,omitempty"`
	Root    *Node  `json:"root,omitempty"`
	Nodes   int    `json:"nodes"` // how many are here
}

// Rect is a rectangle in pixels of the screen.
type Rect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Contains says whether all of other lies in r.
func (r Rect) Contains(other Rect) bool {
	return other.X >= r.X && other.Y >= r.Y && other.X+other.Width <= r.X+r.Width && other.Y+other.Height <= r.Y+r.Height
}

// Value is a number that a node shows, of a slider or a progress bar.
type Value struct {
	Current float64 `json:"current"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
}

// Node is one element of a program's surface. All of it is the program's own word.
type Node struct {
	Ref         Ref      `json:"ref"`
	Role        string   `json:"role"` // AT-SPI's name of it, such as "push button"
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	States      []string `json:"states,omitempty"` // AT-SPI's names, such as "focused"
	Bounds      *Rect    `json:"bounds,omitempty"` // nil where it has no place on the screen
	Value       *Value   `json:"value,omitempty"`
	Text        string   `json:"text,omitempty"`       // the first Options.Text characters, of editable and nameless nodes
	Characters  int      `json:"characters,omitempty"` // of the whole text
	Actions     []string `json:"actions,omitempty"`    // names that Invoke takes
	Children    []*Node  `json:"children,omitempty"`

	parent   *Node
	depth    int
	states   states
	faces    faces
	known    []Ref // children as the cache has them
	complete bool  // known is all of them
}

// Tree asks all programs for what they show. The error is of the bus; what one
// program does not tell is a problem of that [Application] alone.
func (b *Bus) Tree(ctx context.Context, o Options) (*Tree, error) {
	o = o.withDefaults()
	refs, problem, err := b.applications(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tree{Problem: problem}
	apps := make([]*Application, len(refs))
	var left nodeBudget
	left.n = maxTotal
	var all sync.WaitGroup
	for i, ref := range refs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, o.Time)
			defer cancel()
			apps[i] = b.app(ctx, ref, o, &left)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.Apps = slices.DeleteFunc(apps, func(a *Application) bool { return a == nil })
	return t, nil
}

// nodeBudget is what all applications together may have.
type nodeBudget struct {
	mu sync.Mutex
	n  int
}

func (b *nodeBudget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n--
	return b.n >= 0
}

// applications lists the programs on the bus.
func (b *Bus) applications(ctx context.Context) (refs []Ref, problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, Ref{b.registry, rootPath}.ask(accessibleFace, "GetChildren", "a(so)"))
	if err != nil {
		return nil, "", fmt.Errorf("listing the programs on the accessibility bus: %w", err)
	}
	refs = refList(vs[0], maxApps+1)
	if len(refs) > maxApps {
		return refs[:maxApps], fmt.Sprintf("more than %d programs; the rest is left out", maxApps), nil
	}
	return refs, "", nil
}

// app reads one application, nil where it was not asked for.
func (b *Bus) app(ctx context.Context, ref Ref, o Options, left *nodeBudget) *Application {
	a := &Application{Ref: ref}
	// The bus knows the process; a program that hangs is told with it.
	if vs, err := b.conn.Ask(ctx, dbus.ToBus("GetConnectionUnixProcessID", "u", ref.bus)); err == nil {
		a.PID, _ = vs[0].(uint32)
	}
	if o.PID != 0 && a.PID != o.PID {
		return nil
	}
	name, toolkit := ref.property(accessibleFace, "Name", "s"), ref.property(applicationFace, "ToolkitName", "s")
	if err := b.conn.Begin(name, toolkit); err != nil {
		a.Problem = err.Error()
		return a
	}
	// One that does not even say its name is not given all of the time.
	soon, cancel := context.WithTimeout(ctx, o.Time/3)
	vs, err := b.conn.Wait(soon, name)
	cancel()
	if err != nil {
		b.conn.Forget(toolkit)
		a.Problem = problem(err, o.Time/3)
		return a
	}
	a.Name = stringOf(vs)
	if o.App != nil && !o.App.MatchString(a.Name) {
		b.conn.Forget(toolkit)
		return nil
	}
	if vs, err := b.conn.Wait(ctx, toolkit); err == nil {
		a.Toolkit = stringOf(vs)
	}
	w := walk{bus: b, options: o, left: left, app: a, seen: make(map[Ref]bool)}
	if err := w.run(ctx); err != nil {
		a.Problem = problem(err, o.Time)
	}
	return a
}

// problem says what an error means for an application that had so much time.
func problem(err error, had time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("did not answer everything within %v", had)
	}
	return err.Error()
}

// All calls yield for each node of the application, parents before children, until
// that says no.
func (a *Application) All(yield func(*Node) bool) {
	if a.Root == nil {
		return
	}
	for stack := []*Node{a.Root}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !yield(n) {
			return
		}
		for _, c := range slices.Backward(n.Children) {
			stack = append(stack, c)
		}
	}
}

// Parent is the node above, nil of an application's root.
func (n *Node) Parent() *Node { return n.parent }

// Depth counts the nodes above.
func (n *Node) Depth() int { return n.depth }

// Is says whether the node is in a state by AT-SPI's name of it.
func (n *Node) Is(state string) bool { return slices.Contains(n.States, state) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
