package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/show"
)

// Print writes the text form. Where a path or a host was asked about, the
// answer is all that is printed.
func (x *Answer) Print(w io.Writer, plan bool) {
	asked := len(x.Paths)+len(x.Hosts) > 0
	for i := range x.Paths {
		x.Paths[i].print(w)
	}
	for i := range x.Hosts {
		x.Hosts[i].print(w)
	}
	if !asked {
		x.printHead(w)
		x.printDimensions(w)
		x.printNetwork(w)
		x.printVariables(w)
		x.printMounts(w)
		x.printRules(w)
	}
	x.printWarnings(w)
	if plan && x.Plan != nil {
		if asked || len(x.Warnings) > 0 {
			fmt.Fprintln(w)
		}
		x.Plan.print(w)
	}
}

// shortened cuts words that would fill the terminal, as the settings that agents are
// handed; --json and --plan have all of them.
func shortened(words []api.Text) []api.Text {
	const most, kept = 60, 40
	out := slices.Clone(words)
	for i, w := range out {
		if r := []rune(string(w)); len(r) > most && utf8.ValidString(string(w)) {
			out[i] = api.Text(string(r[:kept]) + "...")
		}
	}
	return out
}

func (x *Answer) printHead(w io.Writer) {
	t := &show.Table{}
	t.Row("project", string(x.Project))
	if x.Cwd != x.Project {
		t.Row("directory", string(x.Cwd))
	}
	t.Row("command", show.Words(shortened(x.Command)))
	if x.Preset != "" {
		t.Row("preset", x.Preset)
	}
	t.Row("agent", x.Agent.line())
	t.Row("engine", x.Engine.Name+", "+string(x.Engine.Why))
	t.Print(w, "")
	fmt.Fprintln(w)
}

func (a *explainedAgent) line() string {
	if a == nil {
		return "none recognised"
	}
	line := fmt.Sprintf("%s, recognised by %s", a.Title, show.QuoteIf(string(a.Executable)))
	if len(a.Via) > 0 {
		line += " through " + show.Words(a.Via)
	}
	if a.PromptsOff {
		line += "; its own questions are off"
	}
	if a.Directory != "" {
		line += "; its directory is " + show.QuoteIf(string(a.Directory)) + " (agent_config_dir)"
	}
	return line
}

func (x *Answer) printDimensions(w io.Writer) {
	t := &show.Table{}
	t.Row("DIMENSION", "VALUE", "LAYER", "WHY")
	for _, d := range x.Dimensions {
		why := string(d.Where)
		if d.Note != "" {
			why += " (" + string(d.Note) + ")"
		}
		t.Row(string(d.Dimension), string(d.Value), d.Source.Layer, why)
	}
	t.Print(w, "")
	fmt.Fprintln(w)
}

// printVariables lists what comes from outside: with its reason where that is one of this
// command, and what every command gets in one line.
func (x *Answer) printVariables(w io.Writer) {
	t, common := &show.Table{}, []api.Text{}
	for _, v := range x.Variables {
		if v.Where == "" {
			common = append(common, v.Name)
			continue
		}
		if !t.HasRows() {
			t.Row("VARIABLE", "WHY")
		}
		t.Row(show.QuoteIf(string(v.Name)), string(v.Where))
	}
	t.Print(w, "")
	if len(common) > 0 {
		fmt.Fprintf(w, "variables that every command gets: %s\n", show.Words(common))
	}
	if len(x.Variables) > 0 {
		fmt.Fprintln(w)
	}
}

// printMounts lists what of the host shows beside the project, as it was written and
// where that leads.
func (x *Answer) printMounts(w io.Writer) {
	if len(x.Mounts) == 0 {
		return
	}
	t := &show.Table{}
	t.Row("MOUNT", "ACCESS", "SHOWS AT", "WHY")
	for _, m := range x.Mounts {
		name := show.QuoteIf(string(m.Host))
		if m.Real != "" {
			name += ", which is " + show.QuoteIf(string(m.Real))
		}
		t.Row(name, m.Access, show.QuoteIf(string(m.Inside)), string(m.Where))
	}
	t.Print(w, "")
	fmt.Fprintln(w)
}

// printRules lists what somebody wrote; the defaults are many and only counted.
func (x *Answer) printRules(w io.Writer) {
	t := &show.Table{}
	byDefault := 0
	for _, r := range x.Rules {
		if r.Source.Layer == policy.LayerDefault.String() {
			byDefault++
			continue
		}
		if !t.HasRows() {
			t.Row("FILES", "ACCESS", "WHY")
		}
		t.Row(show.QuoteIf(string(r.Path+r.Glob)), r.Access, strings.TrimSpace(string(r.Where)+" "+string(r.Note)))
	}
	t.Print(w, "")
	fmt.Fprintf(w, "%s and %s; --json lists them\n", show.Count(byDefault, "default file rule", "default file rules"),
		show.Count(len(x.Protected), "protected name", "protected names"))
}

func (x *Answer) printWarnings(w io.Writer) {
	if len(x.Warnings) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, n := range x.Warnings {
		fmt.Fprintf(w, "warning: %s: %s\n", show.OneLine(string(n.Where)), show.OneLine(string(n.Message)))
	}
}

func (p *pathAnswer) print(w io.Writer) {
	fmt.Fprintln(w, show.OneLine(show.QuoteIf(string(p.Path))))
	t := &show.Table{}
	if p.Real != "" {
		t.Row("leads to", show.QuoteIf(string(p.Real)))
	}
	t.Row("access", p.Access)
	t.Row("why", string(p.Why))
	if p.Rule != nil {
		t.Row("rule", p.Rule.Access+" "+show.QuoteIf(string(p.Rule.Path+p.Rule.Glob))+", "+string(p.Rule.Where)+" ("+p.Rule.Source.Layer+")")
	}
	if p.Inside != "" {
		t.Row("inside", string(p.Inside))
	}
	changes(t, p.Change)
	t.Print(w, "  ")
}

func (h *hostAnswer) print(w io.Writer) {
	fmt.Fprintln(w, show.OneLine(show.QuoteIf(string(h.Host))))
	t := &show.Table{}
	if h.Allowed {
		t.Row("access", "allowed")
	} else {
		t.Row("access", "refused")
	}
	t.Row("why", string(h.Why))
	if h.Rule != "" {
		t.Row("rule", string(h.Rule))
	}
	changes(t, h.Change)
	t.Print(w, "  ")
}

func changes(t *show.Table, list []api.Text) {
	for i, c := range list {
		label := "change"
		if i > 0 {
			label = ""
		}
		t.Row(label, string(c))
	}
}

// accessOf is the policy's word, or what a command finds there where something
// of the workspace's own stands before the host's.
func accessOf(a decide.PathAnswer) (access, why string) {
	m := a.Held
	silent := a.Decision.Access == policy.Unset
	if m == nil || !silent && (a.Decision.Rule == nil || a.Decision.Rule.Source.Layer != policy.LayerDefault) {
		return a.Decision.Access.String(), a.Why
	}
	name := show.QuoteIf(a.Path)
	switch {
	case m.Kind == sandbox.MountData, m.Kind == sandbox.WriteFile:
		return "private", name + " is made for the workspace; the host's file of that name is not seen"
	case a.Decision.Access == policy.Deny:
	case m.Kind == sandbox.MountOverlay:
		return "private", name + " can be read; changes stay in this project and do not reach the host"
	case m.Kind == sandbox.MountBind && m.Source != m.Target:
		return "private", name + " is the workspace's own: the host's file of that name is not touched"
	case m.Kind == sandbox.MountTmpfs && !silent:
		return "private", name + " lies in memory that only the workspace has; the host's file of that name is not seen"
	case m.Kind == sandbox.MountDevice && silent:
		return "device", name + " is a device that every workspace has, or that was granted"
	case m.Kind == sandbox.MountBind && m.ReadOnly && silent:
		return "read", name + " can be read but not changed"
	}
	return a.Decision.Access.String(), a.Why
}

// heldBy says what a command finds at a path, by the step of the plan that
// puts it there.
func heldBy(a decide.PathAnswer) string {
	m := a.Held
	if m == nil {
		return "nothing is there"
	}
	if a.Refused {
		return fmt.Sprintf("the host's %s: its name can be seen, each open and each change is refused", show.QuoteIf(a.HeldSource()))
	}
	reason := ""
	if m.Reason != "" {
		reason = " (" + m.Reason + ")"
	}
	switch m.Kind {
	case sandbox.MountBind:
		mode := "can be changed"
		if m.ReadOnly {
			mode = "read-only"
		}
		return fmt.Sprintf("the host's %s, %s%s", show.QuoteIf(a.HeldSource()), mode, reason)
	case sandbox.MountOverlay:
		return fmt.Sprintf("a private copy-on-write layer over the host's %s%s", show.QuoteIf(a.HeldSource()), reason)
	case sandbox.MountTmpfs:
		return fmt.Sprintf("memory at %s: nothing of the host, gone at the end%s", show.QuoteIf(m.Target), reason)
	case sandbox.MountMask:
		return "an empty object that cannot be opened" + reason
	case sandbox.MountData, sandbox.WriteFile:
		return "a generated file" + reason
	case sandbox.MountSelf:
		return "what lies around it, kept in its place" + reason
	}
	return stepName(m) + " at " + show.QuoteIf(m.Target) + reason
}
