package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	manyDesks   = 50
	manyCallers = 4
	idleTime    = 10 * time.Second
	rateTime    = 3 * time.Second
	rateCallers = 8

	followerLag = 2 * time.Second // that a follower may be behind at the end
)

// deskMany has fifty workspaces stand at the same time.
func (b *deskSuite) deskMany() table {
	t := table{title: "Named workspaces: fifty at once", unit: "see the row", about: fmt.Sprintf("%d workspaces, each of a project of its own, started by %d `carrel start` at the same time until all stand; the memory of all their processes together and the processor time that these have in %s of idling; `carrel stop` of all, %d at the same time.", manyDesks, manyCallers, idleTime, manyCallers)}
	return b.desks(t, func(t *table, p *deskPlace) error {
		var names []string
		for i := range manyDesks {
			names = append(names, fmt.Sprintf("many%02d", i))
			if err := mkdirs(p.project(names[i])); err != nil {
				return err
			}
		}
		stand := &contender{name: "until all stand, ms"}
		memory := &contender{name: "memory of all, MiB"}
		cpu := &contender{name: "processor time of all in ten idle seconds, ms"}
		stopped := &contender{name: "until all have stopped, ms"}
		for round := range min(3, b.rounds) {
			fmt.Fprintf(b.progress, "\r%-40s %d ", "workspaces: fifty", round+1)
			start := time.Now()
			if err := atOnce(manyCallers, names, func(name string) error { return p.carrel(p.project(name), "start", name) }); err != nil {
				return err
			}
			stand.got = append(stand.got, millis(time.Since(start)))
			if n := len(registry(p.runtime)); n != manyDesks {
				return fmt.Errorf("%d workspaces stand, not %d", n, manyDesks)
			}
			pss, before, err := p.weigh()
			if err != nil {
				return err
			}
			memory.got = append(memory.got, pss)
			time.Sleep(idleTime)
			after, err := p.cpu()
			if err != nil {
				return err
			}
			cpu.got = append(cpu.got, millis(after-before))
			start = time.Now()
			if err := atOnce(manyCallers, names, func(name string) error { return p.carrel("/", "stop", name) }); err != nil {
				return err
			}
			stopped.got = append(stopped.got, millis(time.Since(start)))
		}
		fmt.Fprintln(b.progress)
		t.rows = rows([]*contender{stand, memory, cpu, stopped})
		return nil
	})
}

func (p *deskPlace) project(name string) string { return p.b.fixture.root + "/desks/projects/" + name }

// deskRates counts what one workspace takes in a second.
func (b *deskSuite) deskRates() table {
	t := table{title: "Named workspaces: how much in a second", unit: "a second", about: fmt.Sprintf("What one workspace takes, by its socket, from %d callers of this program that ask again as soon as they are answered, for %s: commands to their end; apps that are launched and waited for, three events each, and how many of the events a follower received meanwhile; and waiting for an app that has ended, one event and no process.", rateCallers, rateTime)}
	return b.desks(t, func(t *table, p *deskPlace) error {
		if err := p.carrel(b.fixture.repo, "start", "one"); err != nil {
			return err
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer null.Close()
		stdio := []*os.File{null, null, null}
		exec := func() error { return execIn(p.runtime, "one", stdio, []string{"true"}) }
		names := []string{"commands, 1 caller", fmt.Sprintf("commands, %d callers", rateCallers), "apps", "events of apps", "of these, received by a follower", "events of waiting", "of these, received by a follower of them"}
		got := make([]*contender, len(names))
		for i, name := range names {
			got[i] = &contender{name: name}
		}
		for round := range min(3, b.rounds) {
			fmt.Fprintf(b.progress, "\r%-40s %d ", "workspaces: rates", round+1)
			one, err1 := perSecond(1, exec)
			eight, err2 := perSecond(rateCallers, exec)
			apps, made, seen, err3 := p.followed(func() error {
				_, err := p.launched()
				return err
			})
			done, err4 := p.launched()
			_, waits, heard, err5 := p.followed(func() error { return p.wait(done) })
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				return err
			}
			for i, v := range []float64{one, eight, apps, made, seen, waits, heard} {
				got[i].got = append(got[i].got, v)
			}
		}
		fmt.Fprintln(b.progress)
		t.rows = rows(got)
		return nil
	})
}

// launched launches an app that does nothing, waits for its end, and gives its id.
func (p *deskPlace) launched() (string, error) {
	r, err := askDesk(p.runtime, "one", request{Op: "launch", Command: &command{Argv: []string{"true"}}})
	if err != nil {
		return "", err
	}
	if r.App == nil {
		return "", errors.New("the workspace did not say what it launched")
	}
	return r.App.ID, p.wait(r.App.ID)
}

func (p *deskPlace) wait(app string) error {
	_, err := askDesk(p.runtime, "one", request{Op: "wait", App: app})
	return err
}

// perSecond has a number of callers do something over and over, and counts.
func perSecond(callers int, do func() error) (float64, error) {
	var all sync.WaitGroup
	var count atomic.Int64
	errs := make([]error, callers)
	start := time.Now()
	for i := range callers {
		all.Go(func() {
			for time.Since(start) < rateTime && errs[i] == nil {
				if errs[i] = do(); errs[i] == nil {
					count.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(count.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}

// followed is perSecond with a follower of events: done is how often it was done,
// made how many events there were, seen how many of them the follower received, all a
// second.
func (p *deskPlace) followed(do func() error) (done, made, seen float64, err error) {
	first, err := p.lastEvent()
	if err != nil {
		return 0, 0, 0, err
	}
	conn, err := dialDesk(p.runtime, "one")
	if err != nil {
		return 0, 0, 0, err
	}
	var received, newest atomic.Uint64
	var follower sync.WaitGroup
	follower.Go(func() { // until the connection is closed
		_, _ = converse(conn, request{Op: "events", Follow: true, Since: first}, nil, func(r reply) {
			if r.Event != nil {
				received.Add(1)
				newest.Store(r.Event.Seq)
			}
		})
	})
	defer follower.Wait()
	defer conn.Close()
	start := time.Now()
	done, err = perSecond(rateCallers, do)
	took := time.Since(start).Seconds()
	if err != nil {
		return 0, 0, 0, err
	}
	last, err := p.lastEvent()
	for end := time.Now().Add(followerLag); newest.Load() < last && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return done, float64(last-first) / took, float64(received.Load()) / took, err
}

// lastEvent is the number of the newest event.
func (p *deskPlace) lastEvent() (uint64, error) {
	r, err := askDesk(p.runtime, "one", request{Op: "status"})
	if err == nil && r.Status == nil {
		err = errors.New("the workspace did not tell its status")
	}
	if err != nil {
		return 0, err
	}
	return r.Status.Events, nil
}
