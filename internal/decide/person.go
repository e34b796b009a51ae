package decide

import (
	"os"

	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/ceilings"
	"carrel/internal/credentials"
	"carrel/internal/hostwritable"
	"carrel/internal/policy"
)

// openKeyring refuses what a ceiling does not let be, and finds out which of the user's
// credentials may be used.
func (p *homed) openKeyring() (err error) {
	uses := p.Loaded.Settings.Credentials
	if len(uses) == 0 {
		return nil
	}
	if err := policy.CheckCredentials(ceilings.Of(p.Loaded).All(), uses); err != nil {
		return err
	}
	p.Keyring, err = credentials.Open(credentials.Config{
		Uses: uses, Home: p.Place.Home, Getenv: p.Getenv, Socket: p.InsideAgent(), Reach: p.credentialReach,
		Writable:      func(at string) bool { return p.writable().At(at) },
		WritableBelow: func(at string) bool { return p.writable().Below(at) },
		Note:          p.Note, Deny: p.DenyBounded(),
		Withheld: func(operation string) *api.Denial { return p.Audit.Refuse(operation) },
		Record:   func(r api.AuditRecord) { p.Audit.Add(r) },
	})
	return err
}

// AuditOptions say what is kept of the workspace with this id, and where it is asked that
// nothing is done which cannot be written down. lost is told when records begin to be lost.
func (p *homed) AuditOptions(id string, lost func(error)) auditor.Options {
	o := auditor.Options{Lost: lost, Of: api.AuditSession{
		ID: id, UID: p.UID, Project: api.Text(p.Place.Project), Policy: p.Digest(), Version: p.Request.Version}}
	if v := p.Loaded.Settings.AuditRequired; v != nil && v.V {
		o.Required = v.Source.String()
	}
	v := p.Loaded.Settings.AuditJournal
	o.Journal = v != nil && v.V
	return o
}

// Opener gives the host's link opener and the environment to start it with,
// when the user's own configuration wants links opened.
func (p *homed) Opener() (string, []string) {
	if p.Policy.OpenURLs != policy.LinksBrowser {
		return "", nil
	}
	if st, err := os.Stat(openerPath); err != nil || !st.Mode().IsRegular() {
		p.Note("open_urls is browser, but %s does not exist", openerPath)
		return "", nil
	}
	if at := p.OpenerWritable(); at != "" {
		p.Note("open_urls is browser, but links are only shown: programs inside can write %q, which says what they are opened with", at)
		return "", nil
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"HOME", "USER", "LANG", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "DESKTOP_SESSION"} {
		if v := p.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return openerPath, env
}

// openerPath is the program that opens a link on the host's desktop. It is
// looked for in the system's own directory only: what stands in the user's
// PATH may have been put there by an agent.
const openerPath = "/usr/bin/xdg-open"

// OpenerWritable is a place by which programs inside would choose what runs outside when a
// link is opened, "" for none.
func (p *homed) OpenerWritable() string {
	if p.NoWalls() {
		return ""
	}
	return p.writable().Opener(p.Getenv)
}

// PulseCookie is the person's cookie of the sound server, "" where there is none that
// may be used.
func (p *homed) PulseCookie() string { return p.writable().PulseCookie(p.Getenv, !p.NoWalls()) }

// writable is what programs inside can change, by what is decided so far.
func (p *homed) writable() hostwritable.Grants {
	return hostwritable.Grants{Policy: p.Policy, Binds: p.binds}
}
