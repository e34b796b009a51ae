package workspace

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

// loginWatch keeps the logins inside and outside alike while an agent runs.
type loginWatch struct{ stop, done chan struct{} }

// watchLogins begins to carry logins in and out as they are renewed. Many tokens
// can be used for one renewal only: of two workspaces, or a workspace and the
// host, the one that still had the old token would be logged out.
func (p *Prepared) watchLogins() {
	if p.Agent == nil || p.state == nil || p.ownDir() != "" || p.logins != nil || len(p.Agent.MergeBack) == 0 {
		return
	}
	w := &loginWatch{stop: make(chan struct{}), done: make(chan struct{})}
	p.logins = w
	go func() {
		defer close(w.done)
		changed, forget := watchDirs(p.loginDirs)
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
			if p.loginStamp() == seen {
				continue
			}
			if wait := paced.take(time.Now()); wait > 0 && !w.pause(wait) {
				return
			}
			stamp := p.loginStamp()
			if p.exchangeLogins(false) {
				seen = stamp
			} else if !w.pause(loginPace) { // and then again
				return
			}
		}
	}()
}

// pause waits, and reports false where the watch ends meanwhile.
func (w *loginWatch) pause(wait time.Duration) bool {
	select {
	case <-w.stop:
		return false
	case <-time.After(wait):
		return true
	}
}

// mergeAgent ends the watch and carries out what is left.
func (p *Prepared) mergeAgent() {
	if p.logins == nil {
		return
	}
	close(p.logins.stop)
	<-p.logins.done
	p.logins = nil
	p.exchangeLogins(true)
}

// exchangeLogins brings the logins together, and reports false where that failed. What
// may be otherwise the next time is told at the end only: the agent may be in the middle
// of writing.
func (p *Prepared) exchangeLogins(last bool) bool {
	unlock, err := p.lockLogins()
	if err != nil {
		if last {
			p.note("%s: its login was not carried back: %v", p.Agent.Name, err)
		}
		return false
	}
	defer unlock()
	before := p.agreed()
	after, notes, err := agents.SyncLogins(*p.Agent, p.agentPlaces(), before)
	if err == nil {
		err = p.agree(after)
	}
	if err != nil && last {
		p.note("%s: its login was not carried back: %v", p.Agent.Name, err)
	}
	for _, n := range notes {
		if last || !n.Again {
			p.agentNotes([]agents.Note{n})
		}
	}
	return err == nil
}

// lockLogins holds the agent's logins, for all projects of the user: they all are
// brought together with the one on the host.
func (p *Prepared) lockLogins() (unlock func(), err error) {
	dir := filepath.Join(p.state.Root(), "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, p.Agent.Name+".lock")
	unlock, err = hostfile.Lock(file, loginWait)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return unlock, err
}

// agreed is what was agreed on when this copy's logins were last brought together
// with the host's. It is read anew each time: another run of this project does the
// same with the same copy. The lock is held.
func (p *Prepared) agreed() (a agents.Agreed) {
	data, err := os.ReadFile(p.agreedFile())
	if err != nil || json.Unmarshal(data, &a) != nil {
		return agents.Agreed{}
	}
	return a
}

// agree writes down what was agreed on. The lock is held.
func (p *Prepared) agree(a agents.Agreed) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return safefile.Write(p.agreedFile(), data, safefile.Options{Temp: filepath.Base(p.agreedFile()) + ".new"})
}

func (p *Prepared) agreedFile() string { return p.agentDir() + ".login" }

// loginPlaces are the login files on both sides.
func (p *Prepared) loginPlaces() (host, inside []string) {
	for _, m := range p.Agent.MergeBack {
		host = append(host, filepath.Join(p.place.Home, m.File))
		inside = append(inside, filepath.Join(p.agentDir(), m.Inside()))
	}
	return host, inside
}

// loginDirs are the directories in which they lie.
func (p *Prepared) loginDirs() []string {
	host, inside := p.loginPlaces()
	var dirs []string
	for _, file := range append(host, inside...) {
		if dir := filepath.Dir(file); dir != p.place.Home { // where too much happens
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// loginStamp is another one when a login file has become another.
func (p *Prepared) loginStamp() string {
	var stamp []byte
	host, inside := p.loginPlaces()
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
