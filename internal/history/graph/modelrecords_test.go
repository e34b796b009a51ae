package graph

// Records gives what is written down of an undo, one list for each of the steps
// that it takes back, as if that had been taken back alone. The steps stand newest
// first, and so do the lists. It is called before the plan is carried out.
func Records(steps [][]Transition, d *Decision) [][]Transition {
	if d.Refused {
		return make([][]Transition, len(steps))
	}
	r := &recorder{
		draft: d.work, steps: steps, out: make([][]Transition, len(steps)),
		at: make(map[Key]int), cur: make(map[Key]Value), node: make(map[Node]span), oldest: make(map[Key]Value),
	}
	for i := range steps {
		r.firsts = append(r.firsts, firsts(steps[i]))
		for _, b := range r.firsts[i] {
			r.oldest[b.key] = b.value
		}
	}
	for i := range steps {
		r.step(i)
	}
	r.derive()
	return r.out
}

type span struct{ first, last int }

type recorder struct {
	*draft
	steps  [][]Transition
	firsts [][]before
	out    [][]Transition
	at     map[Key]int // the last list that has the key
	cur    map[Key]Value
	node   map[Node]span
	// oldest is what each key was before all of the steps.
	oldest map[Key]Value
}

// step writes the keys of one step.
func (r *recorder) step(i int) {
	for _, b := range r.firsts[i] {
		from, ok := r.cur[b.key]
		if !ok {
			if from, ok = r.begin(b.key); !ok {
				continue
			}
		}
		r.at[b.key], r.cur[b.key] = i, b.value
		r.touch(b.key, i, from.N, b.value.N)
		r.write(i, b.key, from, b.value)
	}
}

// before is a key of a step with the value that it had before.
type before struct {
	key   Key
	value Value
}

func firsts(ts []Transition) []before {
	seen := make(map[Key]bool, len(ts))
	all := make([]before, 0, len(ts))
	for i := range ts {
		if !seen[ts[i].Key] {
			seen[ts[i].Key] = true
			all = append(all, before{ts[i].Key, ts[i].From})
		}
	}
	return all
}

func (r *recorder) write(i int, k Key, from, to Value) {
	if from == to {
		return
	}
	var step uint64
	if len(r.steps[i]) > 0 {
		step = r.steps[i][0].Step
	}
	r.out[i] = append(r.out[i], Transition{Key: k, From: from, To: to, Step: step})
}

func (r *recorder) touch(k Key, i int, nodes ...Node) {
	if k.Part != Entry {
		nodes = []Node{k.Node}
	}
	for _, n := range nodes {
		s, known := r.node[n]
		if !known {
			s = span{i, i}
		}
		r.node[n] = span{min(s.first, i), max(s.last, i)}
	}
}

// begin is the value that a key is taken back from, if it is.
func (r *recorder) begin(k Key) (Value, bool) {
	if it := r.byKey[k]; it != nil {
		return it.found, it.on && (it.settled || it.Part == Entry && it.found == it.want)
	}
	return r.virtual(k)
}

// virtual is the value of a key that the steps leave as they found it: it is
// written too, so that each step can be made again alone.
func (r *recorder) virtual(k Key) (Value, bool) {
	want := r.oldest[k]
	return want, r.found(k) == want
}

func (r *recorder) found(k Key) Value {
	switch k.Part {
	case Entry:
		return Value{N: r.p.Entry(k.place())}
	case Content:
		return Value{N: r.p.Content(k.Node)}
	}
	s, known := r.p.Meta(k.Node)[k.Name]
	if !known {
		return Unknown
	}
	return Value{S: s}
}

// derive writes what follows from what was found: with the step because of which
// it is so.
func (r *recorder) derive() {
	if len(r.out) == 0 {
		return
	}
	var births []*item
	for _, it := range r.items {
		if !it.on {
			continue
		}
		from, have := r.cur[it.Key]
		if !have {
			from = it.found
		}
		if from == it.want || !have && it.change != nil && it.want == it.target {
			continue
		}
		if !have && it.Part == Content && it.found.N == Dead && it.want.N != Dead {
			births = append(births, it)
			continue
		}
		i := r.place(it)
		r.touch(it.Key, i, it.found.N, it.want.N)
		r.write(i, it.Key, from, it.want)
	}
	for _, it := range births {
		i := len(r.out) - 1
		if s, ok := r.node[it.Node]; ok {
			i = s.first
		}
		r.write(i, it.Key, it.found, it.want)
	}
}

// place is the list that a derived value belongs to: that of the last step, as they
// are taken back, that has to do with its nodes.
func (r *recorder) place(it *item) int {
	i := -1
	if at, ok := r.at[it.Key]; ok {
		i = at
	}
	nodes := []Node{it.found.N, it.want.N}
	if it.Part != Entry {
		nodes = []Node{it.Node}
	}
	for _, n := range nodes {
		if s, ok := r.node[n]; ok && n != 0 {
			i = max(i, s.last)
		}
	}
	if i < 0 {
		return len(r.out) - 1
	}
	return i
}
