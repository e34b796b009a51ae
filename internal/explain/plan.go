package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/sandbox"
	"carrel/internal/show"
)

// plan is a compiled plan for reading. It names variables and does not show
// their values: they may be keys.
type plan struct {
	UID        uint32     `json:"uid"`
	GID        uint32     `json:"gid"`
	Namespaces []string   `json:"namespaces"`
	Loopback   bool       `json:"loopback"`
	Pool       bool       `json:"pool"`
	Listeners  []string   `json:"listeners,omitempty"` // made inside, accepted on by the supervisor
	Steps      []planStep `json:"steps"`
	Limits     []string   `json:"user_limits,omitempty"`
	Brokered   []api.Text `json:"brokered,omitempty"` // below these the broker decides and records
	NoExec     []api.Text `json:"no_exec,omitempty"`
	Landlock   landlocked `json:"landlock"`
	Seccomp    int        `json:"seccomp_instructions"`
	Processes  uint64     `json:"processes,omitempty"`
	Command    []api.Text `json:"command"`
	Dir        api.Text   `json:"dir"`
	Variables  []api.Text `json:"variables"`

	layered bool // what can be written has a layer over it
	closed  bool // there are no sockets, with no namespace for them either
}

type planStep struct {
	Kind   string   `json:"kind"`
	Flags  string   `json:"flags,omitempty"`
	Target api.Text `json:"target"`
	Source api.Text `json:"source,omitempty"`
	Lower  api.Text `json:"lower,omitempty"`
	Upper  api.Text `json:"upper,omitempty"`
	Reason api.Text `json:"reason,omitempty"`
}

type landlocked struct {
	Files  bool       `json:"files"`
	Read   []api.Text `json:"read,omitempty"` // only these can be read, and files in them started; empty: everything in sight
	Write  []api.Text `json:"write,omitempty"`
	Starts []api.Text `json:"programs,omitempty"` // only these can be started
	Scopes bool       `json:"scopes"`
}

// instruction is the size of a classic BPF instruction, linux/filter.h.
const instruction = 8

func planOf(p *sandbox.Plan) *plan {
	out := &plan{
		UID: p.UID, GID: p.GID, Loopback: p.Loopback, Pool: p.Pool, Seccomp: len(p.Seccomp) / instruction, Processes: p.NProc,
		Namespaces: []string{"user", "mount", "pid", "ipc", "uts", "cgroup"},
		Landlock:   landlocked{Files: p.Landlock.Files, Write: show.Texts(p.Landlock.Write), Starts: show.Texts(p.Landlock.Execute), Scopes: p.Landlock.Scopes},
		Brokered:   show.Texts(p.Roots), NoExec: show.Texts(p.NoExec),
		Command: show.Texts(p.Command.Argv), Dir: api.Text(p.Command.Dir),
	}
	out.layered = slices.ContainsFunc(p.Mounts, func(m sandbox.Mount) bool { return m.Kept })
	if p.Engine == sandbox.EngineNone {
		out.Namespaces = []string{"user", "mount", "pid"}
	}
	if p.NewNet {
		out.Namespaces = append(out.Namespaces, "net")
	}
	for _, l := range p.Listeners {
		out.Listeners = append(out.Listeners, l.Network+" "+l.Address)
	}
	for _, l := range p.UserLimits {
		out.Limits = append(out.Limits, fmt.Sprintf("%s=%d", l.Name, l.Value))
	}
	if p.HighestPID > 0 {
		out.Limits = append(out.Limits, fmt.Sprintf("pid_max=%d", p.HighestPID))
	}
	for i := range p.Mounts {
		m := &p.Mounts[i]
		out.Steps = append(out.Steps, planStep{Kind: stepName(m), Flags: stepFlags(m), Target: api.Text(m.Target),
			Source: api.Text(m.Source), Lower: api.Text(m.Lower), Upper: api.Text(m.Upper), Reason: api.Text(m.Reason)})
	}
	if p.Plain {
		out.Namespaces, out.Steps = []string{"none"}, nil
	}
	for _, e := range p.Command.Env {
		name, _, _ := strings.Cut(e, "=")
		out.Variables = append(out.Variables, api.Text(name))
	}
	slices.Sort(out.Variables)
	if p.Engine == sandbox.EngineLandlock {
		out.standAlone(p)
	}
	return out
}

// standAlone puts the grants in the place of what a view would need.
func (p *plan) standAlone(of *sandbox.Plan) {
	p.Namespaces, p.Limits, p.closed = nil, nil, of.NewNet
	p.Landlock = landlocked{Files: true, Scopes: true}
	for _, g := range sandbox.Granted(of) {
		if g.Write || g.Device {
			p.Landlock.Write = append(p.Landlock.Write, api.Text(g.Path))
		} else {
			p.Landlock.Read = append(p.Landlock.Read, api.Text(g.Path))
		}
	}
}

// stepName is the word for a step's kind.
func stepName(m *sandbox.Mount) string {
	switch m.Kind {
	case sandbox.MountBind:
		return "bind"
	case sandbox.MountTmpfs:
		return "tmpfs"
	case sandbox.MountProc:
		return "proc"
	case sandbox.MountPts:
		return "devpts"
	case sandbox.MountOverlay:
		return "overlay"
	case sandbox.MountMask:
		return "mask"
	case sandbox.MountData:
		return "cover"
	case sandbox.WriteFile:
		return "file"
	case sandbox.MakeDir:
		return "dir"
	case sandbox.MakeSymlink:
		return "symlink"
	case sandbox.MountHost:
		return "host"
	case sandbox.MountDevice:
		return "device"
	case sandbox.MountSelf:
		return "pin"
	case sandbox.Freeze:
		return "freeze"
	}
	return "step-" + strconv.Itoa(int(m.Kind))
}

// stepFlags are the options of a step in a fixed order.
func stepFlags(m *sandbox.Mount) string {
	var flags []string
	switch m.Kind {
	case sandbox.MountBind, sandbox.MountSelf:
		flags = append(flags, map[bool]string{true: "ro", false: "rw"}[m.ReadOnly])
	case sandbox.MountTmpfs, sandbox.WriteFile, sandbox.MakeDir:
		flags = append(flags, fmt.Sprintf("%04o", m.Perm))
	}
	if m.Optional {
		flags = append(flags, "optional")
	}
	return strings.Join(flags, ",")
}

// print writes the plan, one line for each part, the same for the same plan.
func (p *plan) print(w io.Writer) {
	head := &show.Table{}
	head.Row("namespaces", cmp.Or(strings.Join(p.Namespaces, " "), "none: the steps below are held by Landlock's grants, see docs/engines.md"))
	head.Row("identity", fmt.Sprintf("uid %d, gid %d, no capabilities", p.UID, p.GID))
	head.Row("network", p.network())
	if len(p.Listeners) > 0 {
		head.Row("listeners", "the supervisor's: "+strings.Join(p.Listeners, ", "))
	}
	for _, l := range p.Limits {
		head.Row("limit", l)
	}
	if p.Processes > 0 {
		head.Row("limit", fmt.Sprintf("processes=%d", p.Processes))
	}
	head.Row("seccomp", show.Count(p.Seccomp, "instruction", "instructions"))
	p.history(head)
	p.Landlock.rows(head)
	list(head, "noexec", p.NoExec)
	head.Row("command", show.Words(p.Command))
	head.Row("directory", show.QuoteIf(string(p.Dir)))
	head.Row("variables", show.Words(p.Variables))
	head.Print(w, "")
	fmt.Fprintln(w)
	steps := &show.Table{}
	steps.Row("STEP", "KIND", "FLAGS", "TARGET", "SOURCE", "WHY")
	for i, s := range p.Steps {
		steps.Row(strconv.Itoa(i+1), s.Kind, show.Dash(s.Flags), show.QuoteIf(string(s.Target)), s.source(), string(s.Reason))
	}
	steps.Print(w, "")
}

func (p *plan) network() string {
	switch {
	case p.closed:
		return "none: sockets are refused"
	case !slices.Contains(p.Namespaces, "net"):
		return "the host's"
	case p.Pool:
		return "its own, with a loopback interface; " + sandbox.Pool + " on it stands for names"
	case p.Loopback:
		return "its own, with a loopback interface"
	}
	return "its own, with no interface"
}

// history says who changes the places that file rules open for writing.
func (p *plan) history(t *show.Table) {
	if p.layered {
		t.Row("history", "draft: changes stay in a layer over what can be written, until `carrel review apply`")
		return
	}
	if len(p.Brokered) == 0 {
		t.Row("history", "off: what can be written is changed natively, nothing is recorded")
		return
	}
	t.Row("history", "on: each change is decided and recorded by the broker below")
	list(t, "", p.Brokered)
}

// list writes one row for each path, the first with a head.
func list(t *show.Table, head string, paths []api.Text) {
	for _, p := range paths {
		t.Row(head, show.QuoteIf(string(p)))
		head = ""
	}
}

func (l *landlocked) rows(t *show.Table) {
	switch {
	case !l.Files:
		t.Row("landlock", "no file rules")
	case len(l.Starts) > 0:
		t.Row("landlock", "read below /, write below:")
		list(t, "", l.Write)
		t.Row("landlock", "start only:")
		list(t, "", l.Starts)
	case len(l.Read) > 0:
		t.Row("landlock", "read and execute, but for what is masked in it:")
		list(t, "", l.Read)
		t.Row("landlock", "everything below, and in a directory of the run alone:")
		list(t, "", l.Write)
	default:
		t.Row("landlock", "read and execute below /, everything below:")
		list(t, "", l.Write)
	}
	if l.Scopes {
		t.Row("landlock", "no signals to and no abstract sockets of processes outside")
	} else {
		t.Row("landlock", "no scopes")
	}
}

// source shows where a step takes its content from; a bind onto the same path
// shows nothing new.
func (s *planStep) source() string {
	switch {
	case s.Source == "" || s.Source == s.Target && s.Upper == "":
		return "-"
	case s.Upper != "":
		return show.QuoteIf(string(s.Source)) + " + " + show.QuoteIf(string(s.Upper))
	}
	return show.QuoteIf(string(s.Source))
}
