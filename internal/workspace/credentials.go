package workspace

import (
	"sync"

	"carrel/internal/api"
	"carrel/internal/credentials"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// openKeyring refuses what a ceiling does not let be, and finds out which of the user's
// credentials may be used.
func (p *Prepared) openKeyring() (err error) {
	uses := p.Loaded.Settings.Credentials
	if len(uses) == 0 {
		return nil
	}
	if err := policy.CheckCredentials(p.underCeilings().All(), uses); err != nil {
		return err
	}
	p.keyring, err = credentials.Open(credentials.Config{
		Uses: uses, Home: p.place.Home, Getenv: p.getenv, Socket: p.insideAgent(), Reach: p.credentialReach,
		Writable: p.led, WritableBelow: p.ledBelow, Note: p.note, Deny: p.denyBounded(),
		Withheld: func(operation string) *api.Denial { return p.audit.Refuse(operation) },
		Record:   func(r api.AuditRecord) { p.audit.Add(r) },
	})
	return err
}

func (p *Prepared) credentialReach() credentials.Reach {
	switch {
	case p.NoWalls():
		return credentials.Unfiltered
	case p.engine.name == sandbox.EngineLandlock:
		return credentials.Unreachable
	}
	return credentials.Filtered
}

// insideAgent is where the filtered ssh agent listens, as seen inside.
func (p *Prepared) insideAgent() string { return p.insideRuntime() + "/ssh-agent" }

// denyBounded gives a way to tell of refusals that programs inside cause: what they cause
// must not fill a log.
func (p *Prepared) denyBounded() func(api.Denial) {
	var mu sync.Mutex
	var told int
	return func(d api.Denial) {
		mu.Lock()
		told++
		over := told > p.mostDenials()
		mu.Unlock()
		if over {
			return
		}
		d.Subject = d.Subject[:min(len(d.Subject), maxSubject)]
		p.deny(d)
	}
}
