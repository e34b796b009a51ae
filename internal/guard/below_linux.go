package guard

import (
	"io"
	"os"

	"carrel/internal/broker"
	"carrel/internal/dirlist"
	"carrel/internal/policy"

	"golang.org/x/sys/unix"
)

// A directory that gets another name takes along what lies in it: there a rule
// may begin to hold, or cease to. These bound the search for such names, during
// which no other change is made; what lies beyond them is refused, or asked for.
const maxBelow = 50_000 // names

// carriesRule refuses a rename or an exchange after which a rule would hold for
// something below that was free, or no longer hold for something.
func (c *Config) carriesRule(ch *broker.Change) (v broker.Verdict, refused bool) {
	first, second := ch.Kind == broker.KindDir, ch.Op == broker.OpExchange && ch.Over == broker.KindDir
	if ch.Op != broker.OpRename && ch.Op != broker.OpExchange || !first && !second {
		return v, false
	}
	from, ok := c.Policy.Stand(ch.Path)
	to, ok2 := c.Policy.Stand(ch.To)
	if !ok || !ok2 {
		return refusal(ch.Path, "no rule can be found for it", "default", ""), true
	}
	if first {
		v, refused = c.searchBelow(ch.Dir, ch.Name, Pair{from, to, ch.To})
	}
	if !refused && second {
		v, refused = c.searchBelow(ch.ToDir, ch.ToName, Pair{to, from, ch.Path})
	}
	return v, refused
}

// Pair is where the rules stand for a name that moves, before and after, and
// what it will be called.
type Pair struct {
	From, To policy.Stand
	Name     string
}

// opened is a directory under search.
type opened struct {
	Pair
	dirlist.Listing
}

// searchBelow looks for a name below a directory that is about to move for which
// the move makes a difference.
func (c *Config) searchBelow(at int, name string, p Pair) (v broker.Verdict, refused bool) {
	hit, err := Below(at, name, p, func(p *Pair) bool { return !p.From.SameBelow(p.To) }, func(p *Pair) bool {
		_, ok := parted(p.From.Decision(), p.To.Decision())
		return ok
	})
	switch {
	case err != nil:
		return c.unsearched(hit.Name, err), true
	case hit == nil:
		return v, false
	}
	r, _ := parted(hit.From.Decision(), hit.To.Decision())
	return byRule(refusal(hit.Name, "protected: "+RuleText(r)+", below what is moved", SourceOf(r), ""), r), true
}

// Below goes through a directory until something is found, nil for nothing; with
// an error it is what could not be looked at. It uses descriptors, so that no
// depth and no length of a path is in its way, and goes only into what enters says.
func Below(at int, name string, top Pair, enters, found func(*Pair) bool) (*Pair, error) {
	var stack []opened
	defer func() {
		for _, o := range stack {
			o.Dir.Close()
		}
	}()
	seen := 0
	enter := func(at int, name string, p Pair) error {
		if !enters(&p) {
			return nil
		}
		if len(stack) == dirlist.MaxDepth {
			return unix.ENAMETOOLONG
		}
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOTDIR || err == unix.ELOOP {
			return nil
		}
		if err == nil {
			stack = append(stack, opened{p, dirlist.Listing{Dir: os.NewFile(uintptr(fd), p.Name)}})
		}
		return err
	}
	if err := enter(at, name, top); err != nil {
		return &top, err
	}
	for len(stack) > 0 {
		o := &stack[len(stack)-1]
		name, err := o.Next()
		if err == io.EOF {
			o.Dir.Close()
			stack = stack[:len(stack)-1]
			continue
		}
		p := Pair{Name: o.Name + "/" + name}
		if seen++; err == nil && seen > maxBelow {
			err = unix.E2BIG
		}
		if err == nil {
			p.From, p.To = o.From.Step(name), o.To.Step(name)
			if found(&p) {
				return &p, nil
			}
			err = enter(int(o.Dir.Fd()), name, p)
		}
		if err != nil {
			return &p, err
		}
	}
	return nil, nil
}

// parted says whether two decisions about one thing differ, and which rule makes
// them: of what is free under both names nothing is held.
func parted(from, to policy.Decision) (*policy.Rule, bool) {
	if from.Access == to.Access && from.Protected == to.Protected {
		return nil, false
	}
	if to.Access != policy.Write {
		return to.Rule, true
	}
	return from.Rule, true
}

func (c *Config) unsearched(at string, err error) broker.Verdict {
	return refusal(at, "deny and protect rules may hold below what is moved, and it cannot be searched for them: "+err.Error()+
		"; move what is in it, in smaller parts", "default", "")
}
