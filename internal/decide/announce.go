package decide

import (
	"fmt"
	"strings"

	"carrel/internal/policy"
	"carrel/internal/sandbox/landlock"
)

// Announcements are the sentences that the user has to read before the start:
// what the project file asked for and did not get, and each grant that is
// wider than it may look.
func (p *Decision) Announcements() []string {
	var out []string
	for _, w := range p.Loaded.Warnings {
		out = append(out, fmt.Sprintf("warning: %s: %s", w.Source, w.Message))
	}
	for _, w := range p.Policy.Warnings {
		out = append(out, fmt.Sprintf("warning: %s: %s", w.Source, w.Message))
	}
	if p.NoWalls() {
		return append(out, p.OpenAnnouncement())
	}
	out = append(out, p.hostAnnouncements()...)
	abi, err := landlock.ABI()
	if Contained(p) {
		out = append(out, "container: "+p.engine.String())
	} else if p.Machine != nil {
		out = append(out, "machine: "+p.engine.String()+"; only the project is there")
	} else if p.engine.name != "" {
		out = append(out, fmt.Sprintf("engine %s; weaker than carrel's own namespaces: %s", p.engine, strings.Join(p.engine.name.Weaker(err == nil && abi >= FilesABI), "; ")))
	}
	out = append(out, p.networkAnnouncements(err == nil && abi >= ScopesABI)...)
	if p.Policy.Display == policy.DisplayHost && len(p.displayBinds()) > 0 {
		out = append(out, "display host: windows open on your screen, and the command can watch and type there ("+p.Reason(policy.DimDisplay).Source.String()+")")
	}
	if p.Policy.Clipboard == policy.ClipboardPaste {
		out = append(out, "clipboard paste: just after you press Ctrl+V here, the command can read what you copied on your desktop ("+p.Reason(policy.DimClip).Source.String()+")")
	}
	for _, said := range []string{p.agentMissing(), p.homeAnnouncement()} {
		if said != "" {
			out = append(out, said)
		}
	}
	if p.NoDisplay != "" {
		out = append(out, "warning: "+p.NoDisplaySaid())
	}
	return out
}

// NoDisplaySaid tells of a virtual display that cannot be had.
func (p *Decision) NoDisplaySaid() string {
	return fmt.Sprintf("no virtual display (%s): %s; the workspace has none, and windows open nowhere", p.Reason(policy.DimDisplay).Source, p.NoDisplay)
}
