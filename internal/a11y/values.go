package a11y

import (
	"slices"

	wire "github.com/godbus/dbus/v5"
)

// The types of answers are checked before they are decoded. What is taken out of
// them is checked again here, so that none of it depends on how the decoder
// represents a type.

func stringOf(vs []any) string {
	if len(vs) == 0 {
		return ""
	}
	s, _ := vs[0].(string)
	return s
}

// refOf reads (so); anything that is no reference is the zero Ref.
func refOf(v any) Ref {
	pair, _ := v.([]any)
	if len(pair) != 2 {
		return Ref{}
	}
	bus, _ := pair[0].(string)
	path, _ := pair[1].(wire.ObjectPath)
	if r := (Ref{bus, string(path)}); r.valid() {
		return r
	}
	return Ref{}
}

// refList reads a(so), at most n that are valid.
func refList(v any, n int) []Ref {
	pairs, _ := v.([][]any)
	var out []Ref
	for _, p := range pairs {
		if len(out) == n {
			break
		}
		if r := refOf(p); r.valid() {
			out = append(out, r)
		}
	}
	return out
}

// stateSet reads au, two words of bits.
func stateSet(v any) states {
	words, _ := v.([]uint32)
	var s states
	for i, w := range words[:min(len(words), 2)] {
		s |= states(w) << (32 * i)
	}
	return s
}

// rectOf reads (iiii). What has no place says so with a size below one, or with
// a corner that is the smallest number there is.
func rectOf(v any) *Rect {
	four, _ := v.([]any)
	if len(four) != 4 {
		return nil
	}
	var n [4]int
	for i := range four {
		x, _ := four[i].(int32)
		n[i] = int(x)
	}
	const nowhere = -1 << 31
	if n[2] <= 0 || n[3] <= 0 || n[0] == nowhere || n[1] == nowhere {
		return nil
	}
	return &Rect{n[0], n[1], n[2], n[3]}
}

// actionNames reads the names of a(sss).
func actionNames(v any) []string {
	list, _ := v.([][]any)
	var out []string
	for _, a := range list[:min(len(list), maxActions)] {
		out = append(out, stringOf(a))
	}
	return out
}

// faces is a set of those interfaces that are used here.
type faces uint8

const (
	hasAction faces = 1 << iota
	hasComponent
	hasEditable
	hasText
	hasValue
)

// faceSet reads as.
func faceSet(v any) faces {
	list, _ := v.([]string)
	var f faces
	for bit, name := range map[faces]string{
		hasAction: actionFace, hasComponent: componentFace, hasEditable: editableFace, hasText: textFace, hasValue: valueFace,
	} {
		if slices.Contains(list, name) {
			f |= bit
		}
	}
	return f
}
