package taskplan

import (
	"strings"
)

// profileKind is what a profile is for: by the template that it was made from,
// else by its words.
func profileKind(p Profile) Kind {
	switch p.Kind {
	case ProfileProject:
		return KindAppQA
	case ProfileBrowser, ProfileRestricted:
		return KindBrowser
	}
	return taskKind(read(p.Name+" "+p.Description, nil).kind)
}

// taskKind is a kind of which there are tasks to be planned; "" is none.
func taskKind(k Kind) Kind {
	switch k {
	case KindAppQA, KindBrowser, KindShopping, KindGrocery:
		return k
	}
	return ""
}

// activity is what a workspace seems to be there for, by its purpose, its
// profile and its programs, in this order.
func (s Snapshot) activity(w Workspace) reading {
	if r := read(w.Purpose, nil); taskKind(r.kind) != "" {
		return reading{kind: r.kind, by: "its purpose says " + r.by}
	}
	if p, ok := s.profile(w.Profile); ok {
		if k := profileKind(p); k != "" {
			return reading{kind: k, by: "its profile is " + cut(p.Name, maxName)}
		}
	}
	var names []string
	for _, a := range w.Apps {
		names = append(names, a.Name)
	}
	if r := read(strings.Join(names, " "), nil); taskKind(r.kind) != "" {
		return reading{kind: r.kind, by: "one of its apps is " + r.by}
	}
	return reading{kind: KindUnknown}
}
