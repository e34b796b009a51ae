package explain

import (
	"fmt"
	"io"
	"strings"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// networkJSON is what is decided of the network beside its mode: hosts hold in
// mode filtered, ports in local too, sockets in every mode.
type networkJSON struct {
	Hosts       []networkEntry `json:"hosts"`
	DenyHosts   []networkEntry `json:"deny_hosts"`
	HostPorts   []networkEntry `json:"host_ports"`
	Publish     []networkEntry `json:"publish"`
	UnixSockets []networkEntry `json:"unix_sockets"`
	OnUnknown   string         `json:"on_unknown"`
}

type networkEntry struct {
	Entry  api.Text `json:"entry"`
	Source Source   `json:"source"`
	Where  api.Text `json:"where"`
}

func networkOf(e *policy.Effective) networkJSON {
	plain := func(s string) string { return s }
	return networkJSON{
		Hosts: entriesOf(e.Hosts, plain), DenyHosts: entriesOf(e.DenyHosts, plain),
		HostPorts:   entriesOf(e.HostPorts, func(p uint16) string { return fmt.Sprint(p) }),
		Publish:     entriesOf(e.Publish, func(p policy.Publish) string { return fmt.Sprintf("%d:%d", p.Inside, p.Host) }),
		UnixSockets: entriesOf(e.UnixSockets, plain),
		OnUnknown:   string(e.OnUnknown),
	}
}

func entriesOf[T any](list []policy.Value[T], show func(T) string) []networkEntry {
	out := make([]networkEntry, len(list))
	for i, v := range list {
		out[i] = networkEntry{Entry: api.Text(show(v.V)), Source: SourceOf(v.Source), Where: api.Text(v.Source.String())}
	}
	return out
}

// printNetwork lists what leads in and out. Hosts of one preset are one row;
// where the mode gives them no meaning, only what somebody wrote is shown.
func (x *Answer) printNetwork(w io.Writer) {
	t := &show.Table{}
	mode := x.mode()
	add := func(list []networkEntry, access string, holds bool) {
		for len(list) > 0 {
			n := sameSource(list)
			e := list[0]
			list = list[n:]
			note := ""
			if !holds {
				if e.Source.Layer == policy.LayerDefault.String() {
					continue
				}
				note = " (no use: network " + mode + ")"
			}
			if !t.HasRows() {
				t.Row("NETWORK", "ACCESS", "WHY")
			}
			name := show.QuoteIf(string(e.Entry))
			if n > 1 {
				name += fmt.Sprintf(" and %d more", n-1)
			}
			t.Row(name, access, string(e.Where)+note)
		}
	}
	filtered, local := mode == string(policy.NetFiltered), mode == string(policy.NetLocal)
	add(x.Network.DenyHosts, "deny", filtered)
	add(x.Network.Hosts, "reach", filtered)
	add(x.Network.HostPorts, "host port", filtered || local)
	add(x.Network.Publish, "publish", filtered || local)
	add(x.Network.UnixSockets, "socket", true)
	if t.HasRows() {
		t.Print(w, "")
		fmt.Fprintln(w)
	}
}

// sameSource is how many entries at the beginning one preset stands for.
func sameSource(list []networkEntry) int {
	n := 1
	for n < len(list) && list[n].Source == list[0].Source && strings.HasPrefix(string(list[0].Where), "preset ") {
		n++
	}
	return n
}

func (x *Answer) mode() string {
	for _, d := range x.Dimensions {
		if d.Dimension == policy.DimNetwork {
			return string(d.Value)
		}
	}
	return ""
}
