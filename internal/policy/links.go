package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// links decides the single ports and sockets that lead in and out. They add up
// over the layers, below the ceilings; a project file has none to give.
func (d *decision) links() {
	for _, l := range d.layers {
		r := &l.Request
		d.out.HostPorts = addLinks(d, hostPorts, d.out.HostPorts, stampAll(l, r.HostPorts))
		d.out.Publish = addLinks(d, published, d.out.Publish, stampAll(l, r.Publish))
		d.out.UnixSockets = addLinks(d, unixSockets, d.out.UnixSockets, stampAll(l, atHome(d.scope, r.UnixSockets)))
	}
	for _, l := range d.project {
		ignoreLinks(d, hostPorts, stampAll(l, l.Request.HostPorts))
		ignoreLinks(d, published, stampAll(l, l.Request.Publish))
		ignoreLinks(d, unixSockets, stampAll(l, l.Request.UnixSockets))
	}
	d.portsMeet()
	d.dropPorts()
	d.tellLeftOut()
}

// dropPorts takes ports away where no loopback is: whoever closes the network
// need not take back each port that a file lists.
func (d *findings) dropPorts() {
	if d.out.Network != NetClosed {
		return
	}
	file := func(s Source) bool { return s.Layer != LayerDefault }
	used := slices.ContainsFunc(d.out.HostPorts, func(v Value[uint16]) bool { return file(v.Source) }) ||
		slices.ContainsFunc(d.out.Publish, func(v Value[Publish]) bool { return file(v.Source) })
	if used {
		d.noteNetwork("so none of the listed ports is carried")
	}
	d.out.HostPorts, d.out.Publish = nil, nil
}

// atHome writes out "~/".
func atHome(scope Scope, list []Value[string]) []Value[string] {
	out := slices.Clone(list)
	for i := range out {
		if rest, ok := strings.CutPrefix(out[i].V, "~/"); ok && scope.Home != "" {
			out[i].V = path.Join(scope.Home, rest)
		}
	}
	return out
}

// link describes one kind of way in or out.
type link[T comparable] struct {
	text  func(T) string
	bad   func(Value[T]) string     // what is wrong with one, "" if nothing is
	bound func(*Ceiling) *bounds[T] // nil: no bound
}

type bounds[T comparable] struct {
	list []Value[T]
	by   Source
}

var hostPorts = link[uint16]{
	text: func(p uint16) string { return fmt.Sprintf("the host's port %d", p) },
	bad: func(v Value[uint16]) string {
		if v.V == 0 {
			return "0 is no port: want 1 to 65535"
		}
		return ""
	},
	bound: func(c *Ceiling) *bounds[uint16] { return boundOf(c, c.HostPorts, "host_ports", true) },
}

var published = link[Publish]{
	text: func(p Publish) string { return fmt.Sprintf("publishing port %d at %d", p.Inside, p.Host) },
	bad: func(v Value[Publish]) string {
		if v.V.Inside == 0 || v.V.Host == 0 {
			return "0 is no port: want 1 to 65535"
		}
		return ""
	},
	bound: func(c *Ceiling) *bounds[Publish] { return boundOf(c, c.Publish, "publish", false) },
}

var unixSockets = link[string]{
	text:  func(p string) string { return "the socket " + printable(p) },
	bad:   badSocket,
	bound: func(c *Ceiling) *bounds[string] { return boundOf(c, c.UnixSockets, "unix_sockets", true) },
}

// boundOf is what a ceiling says of one kind. Where it limits the network, a
// way out that it does not list is none: a service on the host may lead
// anywhere. nil lists nothing; an empty list does, too.
func boundOf[T comparable](c *Ceiling, list []Value[T], key string, out bool) *bounds[T] {
	mode := networkBound(c)
	switch {
	case len(list) > 0:
		return &bounds[T]{list, list[0].Source}
	case out && mode != nil && mode.V != NetOpen:
		return &bounds[T]{by: mode.Source}
	case list != nil:
		return &bounds[T]{by: Source{Layer: LayerCeiling, Text: key + ": []"}}
	}
	return nil
}

func addLinks[T comparable](d *decision, k link[T], out, list []Value[T]) []Value[T] {
next:
	for _, v := range list {
		if msg := k.bad(v); msg != "" {
			d.fail(DimNetwork, v.Source, "%s", msg)
			continue
		}
		same := func(o Value[T]) bool { return o.V == v.V }
		for _, c := range d.ceilings {
			b := k.bound(c)
			if b == nil || slices.ContainsFunc(b.list, same) {
				continue
			}
			d.beyondNetwork(v.Source, b.by, k.text(v.V), "none that it does not list")
			continue next
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, v)
		}
	}
	return out
}

func ignoreLinks[T comparable](d *decision, k link[T], list []Value[T]) {
	for _, v := range list {
		d.ignored(v.Source, k.text(v.V)+" widens")
	}
}

// portsMeet refuses ports that two things would have to listen on.
func (d *findings) portsMeet() {
	for i, v := range d.out.Publish {
		if j := slices.IndexFunc(d.out.Publish[:i], func(o Value[Publish]) bool { return o.V.Host == v.V.Host }); j >= 0 {
			d.fail(DimNetwork, v.Source, "port %d of the host is taken by %s: give another one as %d:HOST", v.V.Host, d.out.Publish[j].Source, v.V.Inside)
		}
		if j := slices.IndexFunc(d.out.HostPorts, func(o Value[uint16]) bool { return o.V == v.V.Inside }); j >= 0 {
			d.fail(DimNetwork, v.Source, "port %d inside is the host's by %s, and cannot be published", v.V.Inside, d.out.HostPorts[j].Source)
		}
	}
}

// badSocket says what is wrong with a granted socket. That of a container or
// machine engine is as good as the user's whole account, so nobody but the user
// grants it, where it is seen by everything that is run.
func badSocket(v Value[string]) string {
	switch {
	case !isCleanAbs(v.V) || v.V == "/":
		return fmt.Sprintf("socket %q is not a clean absolute path", v.V)
	case EngineSocket(v.V) && v.Source.Layer != LayerUser:
		return fmt.Sprintf("socket %q is that of an engine that can do all that you can; only network.unix_sockets in your own configuration grants it", v.V)
	}
	return ""
}

// EngineSocket tells whether a path is one at which something listens that
// starts programs outside: an engine of containers or machines, a service
// manager, a terminal multiplexer. Sockets have other names where somebody
// chose them.
func EngineSocket(p string) bool {
	name, dir := path.Base(p), path.Base(path.Dir(p))
	has := func(word string) bool { return strings.Contains(name, word) || dir == word }
	return slices.ContainsFunc(engines, has) || strings.HasPrefix(dir, "tmux-") ||
		slices.Contains([]string{"bus", "unix.socket"}, name)
}

var engines = []string{"docker", "podman", "containerd", "nerdctl", "crio", "buildkit", "kubelet", "libvirt", "virtqemud",
	"qemu", "lxd", "incus", "multipass", "systemd", "dbus", "system_bus", "tmux"}
