package decide

import (
	"os"

	"carrel/internal/led"
	"carrel/internal/policy"
)

// openerPath is the program that opens a link on the host's desktop. It is
// looked for in the system's own directory only: what stands in the user's
// PATH may have been put there by an agent.
const openerPath = "/usr/bin/xdg-open"

// Callbacks says whether a login inside may have its way back through the
// host's loopback: only where the user has links opened at all, and where the
// workspace has a loopback of its own that could answer.
func (p *Decision) Callbacks() bool {
	return p.Policy.OpenURLs == policy.LinksBrowser && p.Plan.NewNet && p.Plan.Loopback
}

// Opener gives the host's link opener and the environment to start it with,
// when the user's own configuration wants links opened.
func (p *Decision) Opener() (string, []string) {
	if p.Policy.OpenURLs != policy.LinksBrowser {
		return "", nil
	}
	if st, err := os.Stat(openerPath); err != nil || !st.Mode().IsRegular() {
		p.Note("open_urls is browser, but %s does not exist", openerPath)
		return "", nil
	}
	if at := p.OpenerLed(); at != "" {
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

// OpenerLed is a place by which programs inside would choose what runs outside when a
// link is opened, "" for none.
func (p *Decision) OpenerLed() string {
	if p.NoWalls() {
		return ""
	}
	return p.led().Opener(p.Getenv)
}

// PulseCookie is the person's cookie of the sound server, "" where there is none that
// may be used.
func (p *Decision) PulseCookie() string { return p.led().PulseCookie(p.Getenv, !p.NoWalls()) }

// led judges what programs inside can change, by what is decided so far.
func (p *Decision) led() led.Judge { return led.Judge{Policy: p.Policy, Binds: p.binds} }
