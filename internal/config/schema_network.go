package config

import (
	"fmt"
	"strconv"
	"strings"

	"carrel/internal/policy"
)

var unknownWords = []string{"deny", "ask"}

// networkFields are the keys of network in a layer's request.
func networkFields() []field {
	return []field{
		{key: "mode", typ: typeEnum, enum: netAsked, also: netAliases,
			doc: "closed: none; local: a loopback inside; api: that and what a known agent cannot do without; filtered: that and the listed hosts; open: the host's network.",
			put: func(t *target, v value) { t.request.Network = textValue[policy.NetworkMode](v) }},
		{key: "allow_hosts", typ: typeList,
			doc:   "What filtered reaches: a name, *.name (its sub-names), **.name (both), an address or a range, each with an optional :port or :port,port; METHOD,METHOD http://NAME/PREFIX for plain HTTP only; preset:NAME.",
			check: badHost(true),
			put: func(t *target, v value) {
				t.request.AllowHosts = append(t.request.AllowHosts, *textValue[string](v))
			}},
		{key: "deny_hosts", typ: typeList,
			doc:   "What filtered never reaches, whatever else is listed, written as for allow_hosts. The one list of network that a project file may add to.",
			check: badHost(false),
			put: func(t *target, v value) {
				t.request.DenyHosts = append(t.request.DenyHosts, *textValue[string](v))
			}},
		{key: "host_ports", typ: typePorts,
			doc:   "Ports of the host's loopback that are reached inside, at the same port of localhost.",
			check: badPort,
			put:   func(t *target, v value) { t.request.HostPorts = append(t.request.HostPorts, portValue(v)) }},
		{key: "publish", typ: typePorts,
			doc:   "Ports inside that are reached on the host's loopback: INSIDE, or INSIDE:HOST for another number there.",
			check: badPublish,
			put:   func(t *target, v value) { t.request.Publish = append(t.request.Publish, publishValue(v)) }},
		{key: "unix_sockets", typ: typeList,
			doc:   "Single Unix sockets of the host that exist inside, by absolute path or in ~. What starts programs outside (docker, podman, libvirt, tmux ...) is granted by the user's own file only, and not by a preset in it.",
			check: badSocketPath,
			put: func(t *target, v value) {
				t.request.UnixSockets = append(t.request.UnixSockets, *textValue[string](v))
			}},
		{key: "on_unknown", typ: typeEnum, enum: unknownWords,
			doc: "What becomes of a host that no rule names: deny it, or ask, while the connection waits. What is denied or in a special range is never asked about.",
			put: func(t *target, v value) { t.request.OnUnknown = textValue[policy.OnUnknown](v) }},
	}
}

// networkCeiling are the keys of network in a ceiling.
func networkCeiling() []field {
	return []field{
		{key: "mode", typ: typeEnum, enum: netModes, also: netAliases,
			doc: "The widest mode; disabled, local_only and inherit_host are other words for closed, local and open.",
			put: func(t *target, v value) { t.ceiling.Network = textValue[policy.NetworkMode](v) }},
		{key: "allow_hosts", typ: typeList,
			doc:  "The only hosts that may be listed; the mode is then at most filtered. Where the mode is local, localhost:PORT, 127.0.0.1:PORT and [::1]:PORT are host_ports.",
			open: emptyIsOpen, check: ceilingHost,
			put: func(t *target, v value) {
				t.ceiling.AllowHosts = append(t.ceiling.AllowHosts, *textValue[string](v))
			}},
		{key: "deny_hosts", typ: typeList,
			doc:   "Hosts that are denied whatever is listed; the mode is then at most filtered.",
			check: badHost(false),
			put: func(t *target, v value) {
				t.ceiling.DenyHosts = append(t.ceiling.DenyHosts, *textValue[string](v))
			}},
		{key: "host_ports", typ: typePorts,
			doc:   "The only ports of the host's loopback that may be reached. Without the key there is no limit, but none at all where mode or hosts are limited; an empty list allows none.",
			check: badPort,
			open: func(t *target, _ value) *target {
				t.ceiling.HostPorts = []policy.Value[uint16]{}
				return t
			},
			put: func(t *target, v value) { t.ceiling.HostPorts = append(t.ceiling.HostPorts, portValue(v)) }},
		{key: "publish", typ: typePorts,
			doc:   "The only ports that may be published, as INSIDE or INSIDE:HOST; an empty list allows none.",
			check: badPublish,
			open: func(t *target, _ value) *target {
				t.ceiling.Publish = []policy.Value[policy.Publish]{}
				return t
			},
			put: func(t *target, v value) { t.ceiling.Publish = append(t.ceiling.Publish, publishValue(v)) }},
		{key: "unix_sockets", typ: typeList,
			doc:   "The only Unix sockets that may be granted, as for host_ports.",
			check: func(v value) string { return notAbsolute(v.text) },
			open: func(t *target, _ value) *target {
				t.ceiling.UnixSockets = []policy.Value[string]{}
				return t
			},
			put: func(t *target, v value) {
				t.ceiling.UnixSockets = append(t.ceiling.UnixSockets, *textValue[string](v))
			}},
		{key: "on_unknown", typ: typeEnum, enum: unknownWords,
			doc: "deny: no person is asked for more hosts. Where it may be asked, nothing is given that allow_hosts does not list.",
			put: func(t *target, v value) { t.ceiling.OnUnknown = textValue[policy.OnUnknown](v) }},
	}
}

// ParsePort reads a port.
func ParsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strings.HasPrefix(text, "0") || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf("%q is not a port: want a number from 1 to 65535", text)
	}
	return uint16(n), nil
}

// ParsePublish reads INSIDE or INSIDE:HOST.
func ParsePublish(text string) (policy.Publish, error) {
	inside, host, two := strings.Cut(text, ":")
	if !two {
		host = inside
	}
	var p policy.Publish
	var err error
	if p.Inside, err = ParsePort(inside); err == nil {
		p.Host, err = ParsePort(host)
	}
	if err != nil {
		return policy.Publish{}, fmt.Errorf("%q is neither INSIDE nor INSIDE:HOST, with ports from 1 to 65535", text)
	}
	return p, nil
}

// badHost holds a list to rules that mean something, wherever they are used.
func badHost(allow bool) func(value) string {
	return func(v value) string { return wordsOf(policy.CheckHostRule(v.text, allow)) }
}

func badPort(v value) string {
	_, err := ParsePort(v.text)
	return wordsOf(err)
}

func badPublish(v value) string {
	_, err := ParsePublish(v.text)
	return wordsOf(err)
}

func badSocketPath(v value) string {
	if strings.HasPrefix(v.text, "~/") {
		return ""
	}
	return notAbsolute(v.text)
}

func wordsOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// portValue and publishValue are for what was checked.
func portValue(v value) policy.Value[uint16] {
	p, _ := ParsePort(v.text)
	return policy.Value[uint16]{V: p, Source: v.source}
}

func publishValue(v value) policy.Value[policy.Publish] {
	p, _ := ParsePublish(v.text)
	return policy.Value[policy.Publish]{V: p, Source: v.source}
}
