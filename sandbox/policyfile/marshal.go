package policyfile

import (
	"encoding/json"
	"fmt"
	"strconv"

	"carrel/internal/api"
)

// MarshalJSON writes the policy in the form that Parse reads. What is a default
// is left out, but mode, nested and history: a reader should see them.
func (p *Policy) MarshalJSON() ([]byte, error) {
	out := policyJSON{
		Version: Version, Cwd: api.Text(p.Cwd), Files: []ruleJSON{}, UnixSockets: texts(p.UnixSockets), Devices: texts(p.Devices),
		Environment: environmentJSON{Pass: p.Environment.Pass},
		Network:     networkJSON{Mode: or(p.Network.Mode, Closed), AllowHosts: p.Network.AllowHosts, DenyHosts: p.Network.DenyHosts, HostPorts: p.Network.HostPorts},
		Nested:      or(p.Nested, NestedNone), History: "off",
	}
	for _, r := range p.Files {
		one := ruleJSON{Path: api.Text(r.Path), Glob: api.Text(r.Glob), Access: r.Access}
		if r.Missing != Refuse {
			one.Missing = r.Missing
		}
		out.Files = append(out.Files, one)
	}
	if p.Environment.Set != nil {
		out.Environment.Set = make(map[string]api.Text)
		for name, value := range p.Environment.Set {
			out.Environment.Set[name] = api.Text(value)
		}
	}
	for _, v := range p.Network.Publish {
		out.Network.Publish = append(out.Network.Publish, fmt.Sprintf("%d:%d", v.Inside, v.Host))
	}
	if p.Programs != nil {
		list := texts(p.Programs)
		out.Programs = &list
	}
	if l := p.Limits; l != (Limits{}) {
		out.Limits = &limitsJSON{Pids: l.Pids}
		if l.Memory != 0 {
			out.Limits.Memory = strconv.FormatInt(l.Memory, 10)
		}
		if l.Timeout != 0 {
			out.Limits.Timeout = l.Timeout.String()
		}
	}
	if p.History {
		out.History = "on"
	}
	return json.Marshal(out)
}

type policyJSON struct {
	Version     int             `json:"version"`
	Cwd         api.Text        `json:"cwd,omitempty"`
	Files       []ruleJSON      `json:"files"`
	Environment environmentJSON `json:"environment"`
	Network     networkJSON     `json:"network"`
	UnixSockets []api.Text      `json:"unix_sockets,omitempty"`
	Programs    *[]api.Text     `json:"programs,omitempty"`
	Devices     []api.Text      `json:"devices,omitempty"`
	Nested      Nesting         `json:"nested"`
	Limits      *limitsJSON     `json:"limits,omitempty"`
	History     string          `json:"history"`
}

type ruleJSON struct {
	Path    api.Text `json:"path,omitempty"`
	Glob    api.Text `json:"glob,omitempty"`
	Access  Access   `json:"access"`
	Missing Missing  `json:"if_missing,omitempty"`
}

type environmentJSON struct {
	Pass []string            `json:"pass,omitempty"`
	Set  map[string]api.Text `json:"set,omitempty"`
}

type networkJSON struct {
	Mode       NetworkMode `json:"mode"`
	AllowHosts []string    `json:"allow_hosts,omitempty"`
	DenyHosts  []string    `json:"deny_hosts,omitempty"`
	HostPorts  []uint16    `json:"host_ports,omitempty"`
	Publish    []string    `json:"publish,omitempty"`
}

type limitsJSON struct {
	Memory  string `json:"memory,omitempty"`
	Pids    int64  `json:"pids,omitempty"`
	Timeout string `json:"timeout,omitempty"`
}

func texts(list []string) []api.Text {
	out := make([]api.Text, len(list))
	for i, s := range list {
		out[i] = api.Text(s)
	}
	return out
}

func or[T ~string](v, instead T) T {
	if v == "" {
		return instead
	}
	return v
}
