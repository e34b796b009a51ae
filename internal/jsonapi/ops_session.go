package jsonapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/policy"
)

func sessionOps() []Operation {
	return []Operation{
		define("session.start", "Begins a session: a workspace around the directories, which ends with it.", inOrder, start),
		define("session.stop", "Ends the session, and all that runs in it.", inOrder, stop),
		define("session.reset", "Ends the session and begins it again as it was begun.", inOrder, reset),
		define("session.status", "Tells what there is.", fromHere, status),
	}
}

type workingDirectory struct {
	Path   string `json:"path" jsonschema:"of a directory that exists; relative ones are to where carrel was started"`
	Label  string `json:"label,omitempty" jsonschema:"another name for it in the field directory of requests"`
	Access string `json:"access,omitempty" jsonschema:"read_write (default) or read_only"`
}

type startIn struct {
	Directories []workingDirectory `json:"working_directories,omitempty" jsonschema:"the first is the project; those of --working-dir where none are given"`
	Network     string             `json:"network_policy,omitempty" jsonschema:"disabled, local, filtered or open; at most what a ceiling grants"`
	Isolation   string             `json:"carrel.isolation,omitempty" jsonschema:"the least: process, kernel (gVisor) or vm"`
	Mode        string             `json:"vm_mode,omitempty" jsonschema:"ephemeral (default), or persistent: the one after it goes on in the same workspace"`
	Version     *int               `json:"protocol_version,omitempty" jsonschema:"1"`
	Agent       string             `json:"carrel.agent,omitempty" jsonschema:"the workspace gets what this agent needs, and agent.prompt asks it"`
	Hosts       []string           `json:"carrel.allow_hosts,omitempty" jsonschema:"reach these hosts: as --allow-host of carrel run"`
}

func (in startIn) agent(usual string) string {
	if in.Agent != "" {
		return in.Agent
	}
	return usual
}

type startOut struct {
	Status      string       `json:"status"` // started
	VMStatus    string       `json:"vm_status"`
	Backend     string       `json:"backend"`
	Isolation   string       `json:"isolation"` // vm, kernel, container, process or none
	MountPoints []mountPoint `json:"mount_points"`
	Version     int          `json:"protocol_version"`
	Workspace   string       `json:"workspace"`
	Project     string       `json:"project"`
}

type mountPoint struct {
	Index     int    `json:"index"`
	Path      string `json:"path"`
	MountPath string `json:"mount_path"` // inside: the same
	Label     string `json:"label,omitempty"`
	Access    string `json:"access"`
}

// check refuses what session.start cannot do, before anything is done.
func (in startIn) check() error {
	if in.Version != nil && *in.Version != Version {
		return &Problem{Code: CodeVersion, Field: "protocol_version", Supported: []int{Version}, Message: "this is version 1 of the protocol"}
	}
	if in.Mode != "" && in.Mode != modeEphemeral && in.Mode != modePersis {
		return invalid("vm_mode", "vm_mode is %s or %s, not %q", modeEphemeral, modePersis, in.Mode)
	}
	if in.Isolation != "" && !slices.Contains(policy.Isolations, in.Isolation) {
		return invalid("carrel.isolation", "carrel.isolation is one of %s, not %q", strings.Join(policy.Isolations, ", "), in.Isolation)
	}
	return checkNetwork(in.Network)
}

func start(ctx context.Context, c *call, in startIn) (startOut, error) {
	if err := in.check(); err != nil {
		return startOut{}, err
	}
	if _, err := c.active(); err == nil {
		return startOut{}, invalid("session", "there is a session already; session.stop ends it")
	}
	n, err := c.begin(ctx, in)
	if err != nil {
		return startOut{}, err
	}
	c.mu.Lock()
	c.session, c.last = n, in
	c.mu.Unlock()
	if ctx.Err() != nil { // the client went meanwhile
		return startOut{}, errors.Join(ctx.Err(), c.endSession(context.Background()))
	}
	return n.told(), nil
}

func (n *session) told() startOut {
	out := startOut{Status: "started", VMStatus: n.vmStatus(), Backend: string(n.backend), Isolation: string(n.backend.Isolation()),
		MountPoints: []mountPoint{}, Version: Version, Workspace: n.entry.Name, Project: n.project}
	for i, d := range n.dirs {
		m := mountPoint{Index: i, Path: d.path, MountPath: d.path, Label: d.label, Access: accessWrite}
		if d.readOnly {
			m.Access = accessRead
		}
		out.MountPoints = append(out.MountPoints, m)
	}
	return out
}

// vmStatus says whether the session's commands run in a virtual machine.
func (n *session) vmStatus() string {
	if n.backend.Isolation() == policy.IsolationVM {
		return "running"
	}
	return "unavailable"
}

const backendNone = "none"

type nothing struct{}

func stop(ctx context.Context, c *call, _ nothing) (nothing, error) {
	if _, err := c.active(); err != nil {
		return nothing{}, err
	}
	return nothing{}, c.endSession(ctx)
}

func reset(ctx context.Context, c *call, _ nothing) (startOut, error) {
	if _, err := c.active(); err != nil {
		return startOut{}, err
	}
	if err := c.endSession(ctx); err != nil {
		return startOut{}, err
	}
	return start(ctx, c, c.last)
}

type statusOut struct {
	State       string         `json:"state"` // idle or active
	Mode        string         `json:"vm_mode"`
	VMStatus    string         `json:"vm_status"`
	Backend     string         `json:"backend,omitempty"`
	Isolation   string         `json:"isolation,omitempty"`
	Directories []string       `json:"working_directories"`
	UndoSteps   []int          `json:"undo_steps"` // that can be taken back, for each directory
	Commands    []string       `json:"commands"`   // that run
	Waiting     []answered     `json:"waiting"`    // approvals and safeguards
	Workspace   string         `json:"workspace,omitempty"`
	Control     string         `json:"control,omitempty"`
	Details     map[string]any `json:"details,omitempty"`
}

func status(ctx context.Context, c *call, _ nothing) (statusOut, error) {
	idle := statusOut{State: "idle", Mode: modeEphemeral, VMStatus: "unavailable", Directories: []string{}, UndoSteps: []int{}, Commands: []string{}, Waiting: []answered{}}
	n, err := c.active()
	if err != nil {
		return idle, nil
	}
	out, err := n.status(ctx, idle)
	if err != nil && n.hasEnded(ctx) {
		return idle, nil
	}
	return out, err
}

func (n *session) status(ctx context.Context, out statusOut) (statusOut, error) {
	out.State, out.Mode, out.Workspace, out.Commands = "active", n.mode, n.entry.Name, n.running()
	out.VMStatus, out.Backend, out.Isolation = n.vmStatus(), string(n.backend), string(n.backend.Isolation())
	r, err := n.entry.Call(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		return out, err
	}
	if out.Details = asMap(r.Status); r.Status.Control != nil {
		out.Control = r.Status.Control.Mode
	}
	list, err := n.waiting(ctx)
	if err != nil {
		return out, err
	}
	for i := range list {
		out.Waiting = append(out.Waiting, approvalSaid(&list[i]))
	}
	for _, d := range n.dirs {
		steps, err := n.steps().undoable(ctx, d.path)
		if err != nil {
			return out, err
		}
		out.Directories, out.UndoSteps = append(out.Directories, d.path), append(out.UndoSteps, len(steps))
	}
	return out, nil
}

// waiting are the operations of the workspace that wait for somebody's word.
func (n *session) waiting(ctx context.Context) ([]api.Approval, error) {
	var out []api.Approval
	err := n.entry.Stream(ctx, api.Request{Op: api.OpApprovals}, func(r api.Reply) error {
		if r.Approval != nil {
			out = append(out, *r.Approval)
		}
		return nil
	})
	return out, err
}
