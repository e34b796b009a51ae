package agents

import (
	"slices"
	"strings"
)

// Off says how something of an agent is switched off. With no Flags, no Env and
// not Needless, no way is known that works for every subcommand.
type Off struct {
	Needless      bool              // the agent has nothing of the kind: it is off
	Flags         []string          // placed before the agent's own arguments, at Match.Index
	Unless        []string          // flags of the person's that say otherwise, and that Flags do not stand beside
	Env           map[string]string // variables to set
	Settings      map[string]any    // settings beside them, of an agent with a SettingsFlag
	RefusedAsRoot bool              // the agent refuses Flags when its uid is 0
	RootEnv       map[string]string // variables that lift that refusal
}

// Possible reports whether the agent can be started with it off.
func (o Off) Possible() bool { return o.Needless || len(o.Flags)+len(o.Env) > 0 }

// FlagsFor returns the flags to put before an agent's own arguments: none where
// the arguments have them already or say otherwise. What stands behind a "--" is
// text and no flag.
func (o Off) FlagsFor(args []string) []string {
	if o.In(args) || slices.ContainsFunc(flagsOf(args), o.contradicts) {
		return nil
	}
	return slices.Clone(o.Flags)
}

// In reports whether an agent's own arguments have these flags, one after the
// other: single words of them, as the -c of `-c key=value`, say nothing.
func (o Off) In(args []string) bool {
	args = flagsOf(args)
	for i := range args {
		if len(o.Flags) > 0 && len(args)-i >= len(o.Flags) && slices.Equal(args[i:i+len(o.Flags)], o.Flags) {
			return true
		}
	}
	return false
}

func (o Off) contradicts(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains(o.Unless, name)
}

func flagsOf(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}
