package a11y

import (
	"cmp"
	"context"
	"slices"
)

// item is what the Cache interface tells of a node: all but its place.
type item struct {
	role              uint32
	states            states
	faces             faces
	name, description string
	children          []Ref
	complete          bool // children are all of them
}

// Types of Cache.GetItems: node, application, parent, then the children or the
// place among the parent's and how many the node has itself; interfaces, name,
// role, description, states. Qt answers with the first form and an empty list.
const (
	itemsWithChildren = "a((so)(so)(so)a(so)assusau)"
	itemsWithIndex    = "a((so)(so)(so)iiassusau)"
)

// items asks a program for all its nodes at once. None is no error: a program
// need not have the interface, and what is not in it is asked for node by node.
func (b *Bus) items(ctx context.Context, bus string, most int) (map[Ref]*item, error) {
	at := Ref{bus, cachePath}
	c := at.ask(cacheFace, "GetItems", itemsWithIndex)
	vs, err := b.conn.Ask(ctx, c)
	if err != nil {
		if older, e := c.As(itemsWithChildren); e == nil {
			vs, err = older, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return itemMap(vs[0], bus, most), nil
}

// placed is a child with its number among its parent's.
type placed struct {
	index int32
	ref   Ref
}

// itemMap reads both forms. Four times as many as will be shown are taken: most
// of what a program has is not visible.
func itemMap(v any, bus string, most int) map[Ref]*item {
	list, _ := v.([][]any)
	list = list[:min(len(list), 4*most)]
	items := make(map[Ref]*item, len(list))
	placedBelow := make(map[Ref][]placed)
	counts := make(map[Ref]int32)
	for _, fields := range list {
		ref, it, rest := itemOf(fields)
		if it == nil || ref.bus != bus {
			continue // a program speaks for itself alone
		}
		items[ref] = it
		if len(rest) == 2 {
			index, _ := rest[0].(int32)
			counts[ref], _ = rest[1].(int32)
			parent := refOf(fields[2])
			placedBelow[parent] = append(placedBelow[parent], placed{index, ref})
		}
	}
	for ref, count := range counts {
		below := placedBelow[ref]
		slices.SortStableFunc(below, func(a, b placed) int { return cmp.Compare(a.index, b.index) })
		for _, p := range below {
			items[ref].children = append(items[ref].children, p.ref)
		}
		items[ref].complete = int(count) == len(below)
	}
	return items
}

// itemOf reads one element of either form. Of the form with places, rest is the
// place and the count of children.
func itemOf(fields []any) (ref Ref, it *item, rest []any) {
	var tail []any
	it = &item{}
	switch len(fields) {
	case 10:
		rest, tail = fields[3:5], fields[5:]
	case 9:
		it.children, it.complete = refList(fields[3], maxTotal), true
		tail = fields[4:]
	default:
		return Ref{}, nil, nil
	}
	it.faces = faceSet(tail[0])
	it.name, _ = tail[1].(string)
	it.role, _ = tail[2].(uint32)
	it.description, _ = tail[3].(string)
	it.states = stateSet(tail[4])
	ref = refOf(fields[0])
	if !ref.valid() {
		return Ref{}, nil, nil
	}
	return ref, it, rest
}
