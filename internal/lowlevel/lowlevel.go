// Package lowlevel runs one command under a policy of [policyfile] and nothing
// else: what `carrel sandbox` and the Go package sandbox share. It translates
// the policy into a request of package decide, which decides and compiles it, and package session
// holds it as it does every other; there is no second way to the walls.
package lowlevel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/session"
	"carrel/sandbox/policyfile"
)

// Run runs argv in a process of this one's, with its standard descriptors, and
// waits for its end. environ is where the policy passes variables from; name
// stands for the policy in messages. The result is complete also when an error
// is returned.
func Run(p *policyfile.Policy, name string, argv, environ []string) (*Result, error) {
	run, err := session.New(Request(p, name, argv, environ))
	if err != nil {
		return Refused(err), err
	}
	r, err := run.Start()
	if p.History {
		run.Steps(r)
	}
	out := &Result{Result: r}
	if err != nil {
		out.Error = api.Text(err.Error())
	}
	return out, err
}

// Result is what is told of a run: as `carrel run --json` has it, and the error.
type Result struct {
	*api.Result
	Error api.Text `json:"error,omitempty"`
}

// Refused is the result of a start that was refused.
func Refused(err error) *Result {
	r := &Result{Result: &api.Result{Exit: api.ExitOurs, Started: time.Now(), Denials: []api.Denial{}}, Error: api.Text(err.Error())}
	var d *api.Denial
	if errors.As(err, &d) {
		r.Denials = append(r.Denials, *d)
	}
	return r
}

// JSON is the result as one line.
func (r *Result) JSON() ([]byte, error) {
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}

// Request is what the policy asks for.
func Request(p *policyfile.Policy, name string, argv, environ []string) decide.Request {
	t := &translation{file: name}
	return decide.Request{
		Argv: argv, Environ: environ, Cwd: p.Cwd, Flags: t.request(p), Default: policy.Agent,
		Exact: &decide.Exact{Tmp: t.tmp, System: t.system},
	}
}

// translation names the policy file as the source of every value.
type translation struct {
	file        string
	tmp, system bool
}

func (t *translation) source(key string) policy.Source {
	return policy.Source{Layer: policy.LayerCommandLine, Text: t.file + ": " + key}
}

func value[T any](t *translation, key string, v T) *policy.Value[T] {
	return &policy.Value[T]{V: v, Source: t.source(key)}
}

func (t *translation) request(p *policyfile.Policy) policy.Request {
	var r policy.Request
	for i, rule := range p.Files {
		t.rule(&r, fmt.Sprintf("files[%d]", i), rule)
	}
	for i, n := range p.Environment.Pass {
		r.EnvPass = append(r.EnvPass, *value(t, fmt.Sprintf("environment.pass[%d]", i), n))
	}
	r.EnvSet = make(map[string]policy.Value[string])
	for n, v := range p.Environment.Set {
		r.EnvSet[n] = *value(t, "environment.set."+n, v)
	}
	t.network(&r, p)
	r.UnixSockets = t.list("unix_sockets", p.UnixSockets)
	r.Devices = t.list("devices", p.Devices)
	if p.Programs != nil {
		r.ProgramsAllow = t.list("programs", p.Programs)
	}
	r.Nested = value(t, "nested", policy.NestedNone)
	if p.Nested != "" {
		r.Nested.V = policy.Nesting(p.Nested)
	}
	r.History = value(t, "history", policy.HistoryOff)
	if p.History {
		r.History.V = policy.HistoryOn
	}
	r.Home = value(t, "files", policy.HomeNone)
	r.Display = value(t, "files", policy.DisplayNone)
	r.Sound, r.Notify, r.OpenURLs = value(t, "files", policy.SwitchOff), value(t, "files", policy.SwitchOff), value(t, "files", policy.LinksNone)
	r.Memory = value(t, "limits.memory", p.Limits.Memory)
	r.Pids = value(t, "limits.pids", p.Limits.Pids)
	r.Timeout = value(t, "limits.timeout", p.Limits.Timeout)
	return r
}

// rule translates one. The private /tmp is no grant of the machine's: it
// is asked for beside the rules.
func (t *translation) rule(r *policy.Request, key string, rule policyfile.Rule) {
	f := policy.FileRequest{Place: project(rule.Path + rule.Glob), Glob: rule.Glob != "", Source: t.source(key), Optional: rule.Missing == policyfile.Skip}
	switch rule.Access {
	case policyfile.Write:
		f.Access = policy.Write
	case policyfile.Deny:
		f.Access = policy.Deny
	default:
		f.Access = policy.Read
	}
	if rule.Path == policyfile.Tmp {
		t.tmp = true
		return
	}
	if rule.Path == policyfile.System || strings.HasPrefix(rule.Path, policyfile.System+"/") {
		t.system = true
	}
	r.Files = append(r.Files, f)
}

// project writes the working directory as the rules of every policy do.
func project(place string) string {
	if rest, ok := strings.CutPrefix(place, policyfile.Cwd); ok && (rest == "" || rest[0] == '/') {
		return ":project" + rest
	}
	return place
}

func (t *translation) network(r *policy.Request, p *policyfile.Policy) {
	n := p.Network
	r.Network = value(t, "network.mode", policy.NetClosed)
	if n.Mode != "" {
		r.Network.V = policy.NetworkMode(n.Mode)
	}
	r.AllowHosts = t.list("network.allow_hosts", n.AllowHosts)
	r.DenyHosts = t.list("network.deny_hosts", n.DenyHosts)
	r.OnUnknown = value(t, "network.mode", policy.UnknownDeny)
	for i, port := range n.HostPorts {
		r.HostPorts = append(r.HostPorts, *value(t, fmt.Sprintf("network.host_ports[%d]", i), port))
	}
	for i, port := range n.Publish {
		r.Publish = append(r.Publish, *value(t, fmt.Sprintf("network.publish[%d]", i), policy.Publish(port)))
	}
}

func (t *translation) list(key string, list []string) []policy.Value[string] {
	out := []policy.Value[string]{}
	for i, v := range list {
		out = append(out, *value(t, fmt.Sprintf("%s[%d]", key, i), v))
	}
	return out
}
