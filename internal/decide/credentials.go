package decide

import (
	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/credentials"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// openKeyring refuses what a ceiling does not let be, and finds out which of the user's
// credentials may be used.
func (p *Decision) openKeyring() (err error) {
	uses := p.Loaded.Settings.Credentials
	if len(uses) == 0 {
		return nil
	}
	if err := policy.CheckCredentials(p.underCeilings().All(), uses); err != nil {
		return err
	}
	p.Keyring, err = credentials.Open(credentials.Config{
		Uses: uses, Home: p.Place.Home, Getenv: p.Getenv, Socket: p.InsideAgent(), Reach: p.credentialReach,
		Writable:      func(at string) bool { return p.led().At(at) },
		WritableBelow: func(at string) bool { return p.led().Below(at) },
		Note:          p.Note, Deny: p.DenyBounded(),
		Withheld: func(operation string) *api.Denial { return p.Audit.Refuse(operation) },
		Record:   func(r api.AuditRecord) { p.Audit.Add(r) },
	})
	return err
}

func (p *Decision) credentialReach() credentials.Reach {
	switch {
	case p.NoWalls():
		return credentials.Unfiltered
	case p.engine.name == sandbox.EngineLandlock:
		return credentials.Unreachable
	}
	return credentials.Filtered
}

// InsideAgent is where the filtered ssh agent listens, as seen inside.
func (p *Decision) InsideAgent() string { return p.InsideRuntime() + "/ssh-agent" }

// AuditOptions say what is kept of the workspace with this id, and where it is asked that
// nothing is done which cannot be written down. lost is told when records begin to be lost.
func (p *Decision) AuditOptions(id string, lost func(error)) auditor.Options {
	o := auditor.Options{Lost: lost, Of: api.AuditSession{
		ID: id, UID: p.UID, Project: api.Text(p.Place.Project), Policy: p.Digest(), Version: p.Request.Version}}
	if v := p.Loaded.Settings.AuditRequired; v != nil && v.V {
		o.Required = v.Source.String()
	}
	v := p.Loaded.Settings.AuditJournal
	o.Journal = v != nil && v.V
	return o
}
