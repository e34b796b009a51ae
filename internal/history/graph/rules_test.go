package graph

import "testing"

// TestRules has a case for each rule of the check, and for each mode.
func TestRules(t *testing.T) {
	for name, test := range map[string]func(*scene){
		"what is as it is to be is no conflict": func(s *scene) {
			s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.undo(1, Abort)
			if d := s.undo(1, Abort); len(d.Conflicts)+len(d.Sets) > 0 {
				s.t.Errorf("conflicts %v, sets %v", d.Conflicts, d.Sets)
			}
		},
		"a later step is named": func(s *scene) {
			s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.step(func() { s.modify(s.file(s.root, "f"), "six") })
			s.taken = s.taken[:1]
			d := s.undo(1, Abort)
			s.conflicts(d, Changed)
			if !d.Refused || d.Conflicts[0].Step != 2 || len(d.Plan(s)) > 0 {
				s.t.Errorf("%+v", d)
			}
			s.has("f=six")
		},
		"a change between two steps is a gap": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.edit(f, "mine")
			s.step(func() { s.modify(s.file(s.root, "f"), "six") })
			s.conflicts(s.undo(2, Abort), Gap)
			s.has("f=six")
			s.conflicts(s.undo(2, KeepBoth), Gap)
			s.has("f=one", "f.undo-conflict=mine")
			s.redo(Abort)
			s.has("f=six")
			s.undo(2, Force)
			s.has("f=one")
		},
		"a file with a gap that a later undo has put aside, removed, and taken back by force": func(s *scene) {
			s.given(s.root, "o", "old")
			s.step(func() { s.create(s.root, "b", "new") })
			b := s.at(s.root, "b")
			s.step(func() { s.rename(s.root, "b", s.root, "o") })
			s.step(func() { s.modify(s.file(s.root, "o"), "two") })
			s.edit(b, "mine")
			s.undo(1, KeepBoth)
			s.has("o=new", "o.undo-conflict=mine")
			s.taken = s.taken[:2]
			s.step(func() { s.unlink(s.root, "o.undo-conflict") })
			s.undo(3, Force)
			s.redo(Abort)
			s.has("o=new")
		},
		"a file that others have given a name lives on": func(s *scene) {
			s.step(func() { s.create(s.root, "f", "data") })
			s.memory.set(s.out, "g", s.at(s.root, "f"))
			d := s.undo(1, Abort)
			if len(d.Kept) != 1 || d.Kept[0].Why != InUse {
				s.t.Errorf("kept %v", d.Kept)
			}
			s.has("../g=data")
			s.redo(Abort)
			s.has("f=data", "../g is f")
		},
		"the last name of a file that was there before": func(s *scene) {
			s.given(s.root, "a", "data")
			s.step(func() { s.link(s.file(s.root, "a"), s.root, "b") })
			s.memory.set(s.root, "a", 0)
			s.conflicts(s.undo(1, Abort), LastName)
			s.conflicts(s.undo(1, Skip), LastName)
			s.has("b=data")
			s.undo(1, Force)
			s.has()
			s.redo(Abort)
			s.has("b=data")
		},
		"a directory with something in it stays": func(s *scene) {
			s.step(func() { s.mkdir(s.root, "d"); s.create(s.at(s.root, "d"), "x", "1") })
			s.given(s.at(s.root, "d"), "y", "mine")
			d := s.undo(1, Abort)
			if len(d.Kept) == 0 || d.Kept[0].Why != Residents || len(d.Conflicts) > 0 {
				s.t.Errorf("kept %v, conflicts %v", d.Kept, d.Conflicts)
			}
			s.has("d/", "d/y=mine")
		},
		"a directory with something in it, where a file is to come": func(s *scene) {
			s.given(s.root, "d", "file")
			s.step(func() { s.unlink(s.root, "d"); s.mkdir(s.root, "d") })
			s.given(s.at(s.root, "d"), "y", "mine")
			s.conflicts(s.undo(1, Abort), InTheWay, Nameless)
			s.undo(1, Force)
			s.has("d=file", "d.undo-conflict/", "d.undo-conflict/y=mine")
			s.redo(Abort)
			s.has("d/", "d/y=mine")
		},
		"a directory would be in itself": func(s *scene) {
			s.dir(s.root, "a")
			b := s.dir(s.root, "b")
			s.step(func() { s.rename(s.root, "a", b, "a") })
			s.taken = append(s.taken, s.taken[0])
			s.undo(1, Abort)
			s.memory.set(s.at(s.root, "a"), "b", b)
			s.memory.set(s.root, "b", 0)
			d := s.redo(Abort)
			if !d.Refused || d.Conflicts[0].Why != NoDirectory && d.Conflicts[0].Why != Loop {
				s.t.Errorf("%+v", d)
			}
		},
		"what the store has lost is told before anything is done": func(s *scene) {
			s.given(s.root, "f", "one")
			s.given(s.root, "g", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two"); s.modify(s.file(s.root, "g"), "two") })
			s.versions[s.taken[0][0].From.N].lost = true
			d := s.undo(1, Abort)
			if !d.Refused || len(d.Lost) != 1 || d.Lost[0].Why != NotKept || d.Lost[0].Text == "" {
				s.t.Errorf("%+v", d)
			}
			s.has("f=two", "g=two")
			if d = s.undo(1, Skip); d.Complete() {
				s.t.Error("complete, and something is lost")
			}
			s.has("f=two", "g=one")
		},
		"an entry of a directory that is gone": func(s *scene) {
			d := s.dir(s.root, "d")
			s.given(d, "x", "data")
			s.step(func() { s.unlink(d, "x") })
			s.memory.set(s.root, "d", 0)
			dec := s.undo(1, Force)
			s.conflicts(dec, NoDirectory, Nameless)
			if dec.Complete() {
				s.t.Error("complete, and nothing is back")
			}
		},
		"times are no conflict": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.inodes[f].meta[Mtime] = "8"
			s.conflicts(s.undo(1, Abort))
			s.has("f=one")
		},
		"metadata that cannot be read is not overwritten": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.step(func() { s.setMeta(s.file(s.root, "f"), "user.a", "=1") })
			delete(s.inodes[f].meta, "user.a")
			if d := s.undo(1, Abort); !d.Refused || len(d.Lost) != 1 || d.Lost[0].Why != Unread {
				s.t.Errorf("%+v", d)
			}
		},
		"keep-both has both contents, and the names outside": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.memory.set(s.out, "g", f)
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.edit(f, "mine")
			s.undo(1, KeepBoth)
			s.has("f=one", "f.undo-conflict=mine", "../g is f.undo-conflict")
			s.redo(Abort)
			s.has("f=mine", "../g is f")
		},
		"keep-both has both files where one was saved as editors do": func(s *scene) {
			s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.given(s.root, "f", "mine")
			s.undo(1, KeepBoth)
			s.has("f=one", "f.undo-conflict=mine")
			s.redo(Abort)
			s.has("f=mine")
			s.redo(Abort)
			s.has("f=one", "f.undo-conflict=mine")
			s.redo(Abort)
			s.has("f=mine")
		},
		"skip leaves what conflicts, and does the rest": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.step(func() { s.modify(s.file(s.root, "f"), "two"); s.create(s.root, "g", "x") })
			s.edit(f, "mine")
			if d := s.undo(1, Skip); d.Complete() {
				s.t.Error("complete, and something is left")
			}
			s.has("f=mine")
		},
		"a death by force takes the content that is found": func(s *scene) {
			s.step(func() { s.create(s.root, "f", "one") })
			s.step(func() { s.modify(s.file(s.root, "f"), "two") })
			s.edit(s.at(s.root, "f"), "mine")
			s.undo(2, Force)
			s.has()
			s.redo(Abort)
			s.has("f=mine")
		},
		"without anchors a file with names outside comes back as its own": func(s *scene) {
			s.anchors = false
			s.memory.set(s.out, "g", s.given(s.root, "f", "one"))
			s.step(func() { s.unlink(s.root, "f") })
			if d := s.undo(1, Abort); !d.Refused || len(d.Lost) != 1 || d.Lost[0].Why != IdentityLost {
				s.t.Errorf("%+v", d)
			}
			s.undo(1, Force)
			s.has("f=one", "../g=one")
		},
		"what was only moved aside keeps its edit": func(s *scene) {
			f := s.given(s.root, "f", "one")
			s.step(func() { s.rename(s.root, "f", s.root, "g") })
			s.edit(f, "mine")
			s.given(s.root, "f", "new")
			s.conflicts(s.undo(1, KeepBoth), Changed)
			s.has("f=mine", "f.undo-conflict=new")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test(s)
		})
	}
}

// TestPlanExchanges: what dies and what comes back in its place change places at
// once, so that the name leads to one of them at every moment.
func TestPlanExchanges(t *testing.T) {
	s := newScene(t)
	s.given(s.root, "f", "one")
	s.step(func() { s.create(s.root, "t", "two"); s.rename(s.root, "t", s.root, "f") })
	d, _, ops := s.decide(s.taken, Abort)
	if d.Refused || len(ops) != 3 || ops[0].Verb != Swap || ops[0].Node == ops[0].Was {
		t.Errorf("operations %+v", ops)
	}
	s.undo(1, Abort)
	s.has("f=one")
}
