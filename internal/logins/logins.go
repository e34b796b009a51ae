// Package logins brings the logins of one agent together: those of the host and those of the
// private copy that a workspace's programs write, while an agent runs and once at its end. What
// was agreed on last is written down beside the copy. So of two sides that differ the newer one
// is told from the older. Package agents knows what a login is and which of two counts; this
// package knows when to look, and waits for other workspaces.
//
// Files of the copy are data from inside: they are opened without links, and bounded.
package logins

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/agents"
	"carrel/internal/hostfile"
	"carrel/internal/safefile"
)

// Logins are those of one agent.
type Logins struct {
	Agent  agents.Agent
	Places agents.Places
	Lock   string                           // held while they are brought together, the same file for all projects of the user
	Note   func(format string, args ...any) // tells the person what went wrong
	Tell   func([]agents.Note)              // and what was done
}

// loginPace is how long a change of a login may go unseen where the kernel does
// not tell of it: a directory that was not there, a link on the host.
const loginPace = 2 * time.Second

// loginWait bounds the wait for another workspace, which may have been stopped in the
// middle.
const loginWait = 20 * time.Second

// How often logins are brought together: each exchange may write and sync a file of the
// host, and programs inside can cause as many as they like.
const (
	loginBurst  = 10
	loginRefill = 500 * time.Millisecond
)

// pace lets a number of things happen at once, and then one in each time.
type pace struct {
	left, burst float64
	each        time.Duration
	at          time.Time
}

// take says how long to wait for the next.
func (p *pace) take(now time.Time) time.Duration {
	if !p.at.IsZero() && now.After(p.at) {
		p.left = min(p.burst, p.left+float64(now.Sub(p.at))/float64(p.each))
	}
	if p.at.Before(now) {
		p.at = now
	}
	p.left--
	return max(0, time.Duration(-p.left*float64(p.each)))
}

// Watch keeps the logins inside and outside alike while an agent runs.
type Watch struct {
	of         Logins
	stop, done chan struct{}
}

// Watch begins to carry logins in and out as they are renewed. Many tokens can be used for
// one renewal only: of two workspaces, or a workspace and the host, the one that still had
// the old token would be logged out. It goes on until [Watch.End].
func (l Logins) Watch() *Watch {
	w := &Watch{of: l, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		changed, forget := watchDirs(l.dirs)
		defer forget()
		tick := time.NewTicker(loginPace)
		defer tick.Stop()
		seen := "" // it may have changed since the start
		paced := pace{left: loginBurst, burst: loginBurst, each: loginRefill}
		for {
			select {
			case <-w.stop:
				return
			case <-changed:
			case <-tick.C:
			}
			// Of before the exchange: what changes during it is looked at again, and
			// so is, once, what it has written itself.
			if l.stamp() == seen {
				continue
			}
			if wait := paced.take(time.Now()); wait > 0 && !w.pause(wait) {
				return
			}
			stamp := l.stamp()
			if l.exchange(false) {
				seen = stamp
			} else if !w.pause(loginPace) { // and then again
				return
			}
		}
	}()
	return w
}

// pause waits, and reports false where the watch ends meanwhile.
func (w *Watch) pause(wait time.Duration) bool {
	select {
	case <-w.stop:
		return false
	case <-time.After(wait):
		return true
	}
}

// End ends the watch and carries out what is left.
func (w *Watch) End() {
	close(w.stop)
	<-w.done
	w.of.exchange(true)
}

// exchange brings the logins together, and reports false where that failed. What
// may be otherwise the next time is told at the end only: the agent may be in the middle
// of writing.
func (l Logins) exchange(last bool) bool {
	unlock, err := l.Hold()
	if err != nil {
		if last {
			l.Note("%s: its login was not carried back: %v", l.Agent.Name, err)
		}
		return false
	}
	defer unlock()
	before := l.Agreed()
	after, notes, err := agents.SyncLogins(l.Agent, l.Places, before)
	if err == nil {
		err = l.Agree(after)
	}
	if err != nil && last {
		l.Note("%s: its login was not carried back: %v", l.Agent.Name, err)
	}
	for _, n := range notes {
		if last || !n.Again {
			l.Tell([]agents.Note{n})
		}
	}
	return err == nil
}

// Hold locks the agent's logins, for all projects of the user: they all are
// brought together with the one on the host.
func (l Logins) Hold() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(l.Lock), 0o700); err != nil {
		return nil, err
	}
	unlock, err = hostfile.Lock(l.Lock, loginWait)
	if err != nil {
		err = fmt.Errorf("%s: %w", l.Lock, err)
	}
	return unlock, err
}

// Agreed is what was agreed on when this copy's logins were last brought together
// with the host's. It is read anew each time: another run of this project does the
// same with the same copy. The lock is held.
func (l Logins) Agreed() (a agents.Agreed) {
	data, err := os.ReadFile(l.agreedFile())
	if err != nil || json.Unmarshal(data, &a) != nil {
		return agents.Agreed{}
	}
	return a
}

// Agree writes down what was agreed on. The lock is held.
func (l Logins) Agree(a agents.Agreed) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return safefile.Write(l.agreedFile(), data, safefile.Options{Temp: filepath.Base(l.agreedFile()) + ".new"})
}

func (l Logins) agreedFile() string { return l.Places.Private + ".login" }

// files are the login files on both sides.
func (l Logins) files() (host, inside []string) {
	for _, m := range l.Agent.MergeBack {
		host = append(host, filepath.Join(l.Places.HostHome, m.File))
		inside = append(inside, filepath.Join(l.Places.Private, m.Inside()))
	}
	return host, inside
}

// dirs are the directories in which they lie.
func (l Logins) dirs() []string {
	host, inside := l.files()
	var dirs []string
	for _, file := range append(host, inside...) {
		if dir := filepath.Dir(file); dir != l.Places.HostHome { // where too much happens
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// stamp is another one when a login file has become another.
func (l Logins) stamp() string {
	var stamp []byte
	host, inside := l.files()
	for _, file := range host {
		st, err := os.Stat(file) // a link stays the user's
		stamp = stampOf(stamp, st, err)
	}
	for _, file := range inside {
		st, err := os.Lstat(file)
		stamp = stampOf(stamp, st, err)
	}
	return string(stamp)
}
