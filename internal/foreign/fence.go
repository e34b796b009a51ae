package foreign

import (
	"strconv"

	"carrel/internal/config"
	"carrel/internal/jsontree"
	"carrel/internal/pathname"
	"carrel/sandbox/policyfile"
)

// Fence reads the settings of fence, in JSON with comments: everything may be
// read unless defaultDenyRead is set, nothing written or reached but what is
// allowed, and /tmp is the command's own.
func Fence(data []byte, o Options) (*Imported, error) {
	root, err := jsontree.ParseLoose(data)
	if err != nil {
		return nil, err
	}
	im := newImporter(o)
	files := &fileLists{importer: im, reads: true}
	im.rule(policyfile.Rule{Path: policyfile.Tmp, Access: policyfile.Write})
	im.object(root, "",
		ignored("$schema"), ignored("allowPty"),
		im.setting("forceNewSession", "it says how that program works"), im.setting("macos", "there is nothing of it here"),
		member{"extends", func(n *jsontree.Node, key string) {
			im.lose(n, key, "what it extends is not read; `fence config show` prints the whole")
		}},
		member{"filesystem", func(n *jsontree.Node, key string) { im.fenceFiles(n, key, files) }},
		member{"network", im.fenceNetwork},
		member{"command", im.fenceCommands},
		member{"devices", im.fenceDevices},
		member{"ssh", im.fenceSSH},
	)
	im.reached()
	files.emit()
	im.ownTmp()
	return im.done()
}

// ownTmp takes the private /tmp back where something is said of the machine's.
func (im *importer) ownTmp() {
	for _, r := range im.out.Files {
		if r.Path == "/tmp" {
			im.out.Files = im.out.Files[1:] // the private one stands first
			return
		}
	}
}

func (im *importer) fenceFiles(n *jsontree.Node, key string, files *fileLists) {
	strict, system := false, false
	im.object(n, key, append(files.members(),
		im.flag("defaultDenyRead", func(*jsontree.Node, string) { files.reads, system = false, true }),
		im.flag("strictDenyRead", func(*jsontree.Node, string) { files.reads, strict = false, true }),
		im.list("allowExecute", func(n *jsontree.Node, key, text string) {
			im.left(n, key, "%q: what may be started can be read and listed here; allow it for reading if you mean that", text)
		}),
		im.flag("wslInterop", func(n *jsontree.Node, key string) { im.left(n, key, "programs of Windows are not started") }),
	)...)
	if system && !strict {
		for _, dir := range codexMinimal {
			im.grant(dir, policyfile.Read)
		}
	}
}

func (im *importer) fenceNetwork(n *jsontree.Node, key string) {
	net := &im.out.Network
	outbound, local := false, listed{}
	var ports []uint16
	im.object(n, key,
		im.list("allowedDomains", func(n *jsontree.Node, key, text string) {
			if text == "*" {
				im.left(n, key, "every host would be the machine's own network, with what listens on its loopback; say \"mode\": \"open\" if you mean that")
				return
			}
			im.host(n, key, text, &net.AllowHosts, true)
		}),
		im.list("deniedDomains", func(n *jsontree.Node, key, text string) {
			im.deniedHost(n, key, text)
		}),
		im.setting("allowUnixSockets", "sockets are granted by a rule of the policy: name those that you mean"),
		im.flag("allowAllUnixSockets", func(n *jsontree.Node, key string) {
			im.left(n, key, "sockets are granted one by one: name those that you mean in unix_sockets")
		}),
		im.flag("allowLocalBinding", func(*jsontree.Node, string) { im.local = true }),
		im.flag("allowLocalOutbound", func(n *jsontree.Node, key string) { outbound, local = true, listed{n, key, ""} }),
		member{"allowLocalOutboundPorts", func(n *jsontree.Node, key string) {
			if n.Kind != jsontree.List && n.Kind != jsontree.Null {
				im.left(n, key, "want a list, got %s", n.Kind)
			}
			for i, item := range n.Items {
				if port, err := config.ParsePort(item.Text); err == nil {
					ports = append(ports, port)
				} else {
					im.left(item, key+"["+strconv.Itoa(i)+"]", "%v", err)
				}
			}
		}},
		ignored("httpProxyPort"), ignored("socksProxyPort"),
		im.setting("upstreamProxy", "what no rule lists is refused"),
		member{"defaultAction", func(n *jsontree.Node, key string) {
			if n.Text != "deny" {
				im.left(n, key, "what no rule lists is refused")
			}
		}},
	)
	if outbound {
		net.HostPorts, im.local = ports, true
		if len(ports) == 0 {
			im.left(local.node, local.key, "the machine's ports are brought in one by one: list them in allowLocalOutboundPorts")
		}
	}
}

// fenceCommands tells that command lines are nobody's business here: what a
// command may do is held by the walls.
func (im *importer) fenceCommands(n *jsontree.Node, key string) {
	im.object(n, key,
		im.list("deny", func(n *jsontree.Node, key, text string) {
			im.lose(n, key, "%q: command lines are not held, only what the walls let be done; \"programs\" lists what may be started", text)
		}),
		ignored("allow"), ignored("useDefaults"), ignored("acceptSharedBinaryCannotRuntimeDeny"), ignored("runtimeExecPolicy"),
	)
}

func (im *importer) fenceDevices(n *jsontree.Node, key string) {
	im.object(n, key,
		member{"mode", func(n *jsontree.Node, key string) {
			if n.Text == "host" {
				im.left(n, key, "devices are granted one by one")
			}
		}},
		im.list("allow", func(n *jsontree.Node, key, text string) {
			if place, err := im.place(text); err != nil || !pathname.Within(place, "/dev") {
				im.left(n, key, "%q is no device", text)
			} else {
				im.out.Devices = append(im.out.Devices, place)
			}
		}),
	)
}

// fenceSSH tells what of ssh is not held. Hosts are those of the network.
func (im *importer) fenceSSH(n *jsontree.Node, key string) {
	im.object(n, key,
		im.list("allowedHosts", func(n *jsontree.Node, key, text string) {
			im.lose(n, key, "%q: that ssh reaches no other is not held; the network lists hosts, with :22 for ssh", text)
		}),
		im.list("deniedHosts", func(n *jsontree.Node, key, text string) {
			im.left(n, key, "%q is reached at no port at all, as ssh could use any", text)
			im.host(n, key, text, &im.out.Network.DenyHosts, false)
		}),
		im.list("allowedCommands", func(n *jsontree.Node, key, text string) {
			im.lose(n, key, "%q: what runs on another machine is not held", text)
		}),
		im.list("deniedCommands", func(n *jsontree.Node, key, text string) {
			im.lose(n, key, "%q: what runs on another machine is not held", text)
		}),
		im.flag("allowAllCommands", func(*jsontree.Node, string) {}),
		im.flag("inheritDeny", func(n *jsontree.Node, key string) { im.lose(n, key, "what runs on another machine is not held") }),
	)
}
