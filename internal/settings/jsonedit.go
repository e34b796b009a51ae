package settings

import (
	"errors"
	"strings"

	"github.com/tailscale/hujson"
)

// Append adds a value at the end of the list at a path, and makes the objects
// and the list that are not there.
func (d *JSON) Append(path []string, value Value) ([]byte, error) {
	return d.put(path, value, func(w writer, base string) string { return w.made(base, "[", "]", value) })
}

// Add adds a member at a path, and makes the objects that are not there. There
// must be none of that name.
func (d *JSON) Add(path []string, value Value) ([]byte, error) {
	return d.put(path, nil, func(w writer, base string) string { return w.value(base, value) })
}

// put goes down a path as far as it exists. last writes what the path's last
// name gets; element goes into the list there, if there is one.
func (d *JSON) put(path []string, element Value, last func(writer, string) string) ([]byte, error) {
	rest := func(w writer, path []string) func(base string) string { return w.nested(path, last) }
	if d.absent && len(path) > 0 {
		w := writer{nl: "\n", unit: "  "}
		return []byte(w.around("", "{", "}", rest(w, path)) + "\n"), nil
	}
	w := d.writer()
	object, c := d.root, d.objectAt(0, len(d.text), d.root)
	for i, name := range path {
		if err := d.Unique(object, name); err != nil {
			return nil, err
		}
		at := memberIndex(object, name)
		if at < 0 {
			return d.add(c, rest(w, path[i:])), nil
		}
		v := object.Members[at].Value
		if i == len(path)-1 {
			list, ok := v.Value.(*hujson.Array)
			if element == nil || !ok {
				return nil, ProblemAt(d.text, v.StartOffset, "%s: %s", strings.Join(path, "."), unlike(element))
			}
			return d.add(arrayAt(v, list), func(base string) string { return w.value(base, element) }), nil
		}
		next, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, ProblemAt(d.text, v.StartOffset, "%s: want an object {...}", strings.Join(path[:i+1], "."))
		}
		object, c = next, d.objectAt(v.StartOffset, v.EndOffset, next)
	}
	return nil, errors.New("an edit without a path")
}

func unlike(element Value) string {
	if element == nil {
		return "is there already"
	}
	return "want a list [...]"
}

// Known is how many of the path's containers are there.
func (d *JSON) Known(path []string) int {
	object := d.root
	for i, name := range path {
		switch v := ValueOf(object, name).(type) {
		case *hujson.Object:
			object = v
		case nil:
			return i
		default:
			return i + 1
		}
	}
	return len(path)
}

// Member finds what is at a path of names that exists.
func (d *JSON) Member(path []string) hujson.Value {
	v := hujson.Value{Value: d.root}
	for _, name := range path {
		object := v.Value.(*hujson.Object)
		v = object.Members[memberIndex(object, name)].Value
	}
	return v
}

// CutElement takes an element out of the list at a path, and with it what holds
// nothing else and was not there before us. Of the path's containers, the first
// known ones are known to have been there; 0 leaves that to how the text stands.
func (d *JSON) CutElement(path []string, index, known int) []byte {
	v := d.Member(path)
	list := arrayAt(v, v.Value.(*hujson.Array))
	if len(list.items) > 1 || known >= len(path) || !d.created(list) {
		return d.cut(list, index)
	}
	return d.cutMember(path, true, known)
}

// CutOnly takes an element out of a list that stands anywhere, and nothing else.
func (d *JSON) CutOnly(list hujson.Value, index int) []byte {
	return d.cut(arrayAt(list, list.Value.(*hujson.Array)), index)
}

// CutMember takes the member at a path out, and with it the objects that hold
// nothing else and were not there before us; known as in [JSON.CutElement].
func (d *JSON) CutMember(path []string, known int) []byte {
	return d.cutMember(path, false, known)
}

// cutMember is told with emptied that the member goes because all that was in it
// is gone: then a comment before it keeps it, as an empty list.
func (d *JSON) cutMember(path []string, emptied bool, known int) []byte {
	v := hujson.Value{Value: d.root}
	var chain []container
	var at []int
	var members []hujson.ObjectMember
	for i, name := range path {
		object := v.Value.(*hujson.Object)
		c := d.objectAt(v.StartOffset, v.EndOffset, object)
		if i == 0 {
			c = d.objectAt(0, len(d.text), d.root)
		}
		n := memberIndex(object, name)
		chain, at, members = append(chain, c), append(at, n), append(members, object.Members[n])
		v = object.Members[n].Value
	}
	last := len(chain) - 1
	if emptied && commented(members[last]) {
		return d.cut(arrayAt(v, v.Value.(*hujson.Array)), 0)
	}
	for ; last > known; last-- {
		if len(chain[last].items) > 1 || !d.created(chain[last]) || commented(members[last-1]) {
			break
		}
	}
	return d.cut(chain[last], at[last])
}

// commented tells whether there is a comment between a name and its value.
func commented(m hujson.ObjectMember) bool {
	return !m.Name.AfterExtra.IsStandard() || !m.Value.BeforeExtra.IsStandard()
}
