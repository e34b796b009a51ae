package foreign

import (
	"strings"

	"carrel/internal/jsontree"
)

// SRT reads the settings of Anthropic's sandbox runtime: everything may be read
// but what is denied, nothing written or reached but what is allowed.
func SRT(data []byte, o Options) (*Imported, error) {
	root, err := jsontree.Parse(data)
	if err != nil {
		return nil, err
	}
	im := newImporter(o)
	im.expressions = true
	files := &fileLists{importer: im, reads: true, reopens: true, guards: guardedAgent}
	own := "it says how that program works"
	im.object(root, "",
		member{"filesystem", func(n *jsontree.Node, key string) {
			im.object(n, key, append(files.members(),
				im.flag("disabled", func(n *jsontree.Node, key string) { im.left(n, key, "the rules hold all the same") }))...)
		}},
		member{"network", im.srtNetwork},
		member{"credentials", func(n *jsontree.Node, key string) { im.srtCredentials(n, key, files) }},
		im.setting("ignoreViolations", own), im.setting("ripgrep", own), im.setting("seccomp", own), im.setting("bwrapPath", own), im.setting("socatPath", own),
		im.setting("windows", own), im.setting("git", own), ignored("mandatoryDenySearchDepth"), ignored("allowPty"),
		im.setting("enableWeakerNestedSandbox", "the walls are not made weaker"), im.setting("enableWeakerNetworkIsolation", "the walls are not made weaker"),
		im.setting("allowAppleEvents", "there is nothing of it here"),
	)
	im.reached()
	files.emit()
	return im.done()
}

func (im *importer) srtNetwork(n *jsontree.Node, key string) {
	net := &im.out.Network
	elsewhere := func(name string) member {
		return member{name, func(n *jsontree.Node, key string) {
			im.lose(n, key, "a proxy of one's own decides there; here nothing goes through it")
		}}
	}
	im.object(n, key,
		im.list("allowedDomains", func(n *jsontree.Node, key, text string) { im.host(n, key, text, &net.AllowHosts, true) }),
		im.list("deniedDomains", func(n *jsontree.Node, key, text string) {
			im.deniedHost(n, key, text)
		}),
		ignored("deniedDomainReasons"), ignored("strictAllowlist"), // nobody is asked here
		im.flag("allowAllDomains", func(n *jsontree.Node, key string) {
			im.left(n, key, "every host would be the machine's own network, with what listens on its loopback; say \"mode\": \"open\" if you mean that")
		}),
		im.setting("allowUnixSockets", "sockets are granted by a rule of the policy: name those that you mean"),
		im.flag("allowAllUnixSockets", func(n *jsontree.Node, key string) {
			im.left(n, key, "sockets are granted one by one: name those that you mean in unix_sockets")
		}),
		im.flag("allowLocalBinding", func(*jsontree.Node, string) { im.local = true }),
		im.setting("allowMachLookup", "there is nothing of it here"),
		elsewhere("httpProxyPort"), elsewhere("socksProxyPort"), elsewhere("mitmProxy"), elsewhere("filterRequest"),
		im.setting("tlsTerminate", "what is encrypted stays encrypted"),
		im.setting("parentProxy", "the machine's own proxy is used, from the environment"),
	)
}

// srtCredentials hides what is to be hidden; what is to be masked is hidden, too.
func (im *importer) srtCredentials(n *jsontree.Node, key string, files *fileLists) {
	each := func(name, id string, add func(n *jsontree.Node, key, text string)) member {
		return member{name, func(n *jsontree.Node, key string) {
			if n.Kind != jsontree.List {
				im.lose(n, key, "want a list, got %s", n.Kind)
				return
			}
			for _, item := range n.Items {
				what, mode := item.Get(id), item.Get("mode")
				if what == nil || what.Kind != jsontree.String || what.Text == "" {
					im.lose(item, key, "want an object with %q", id)
					continue
				}
				add(what, key, what.Text)
				if mode == nil || mode.Text != "deny" {
					im.left(item, key, "%q is not there at all instead of masked", what.Text)
				}
			}
		}}
	}
	why := "nothing is put into requests"
	im.object(n, key,
		each("files", "path", func(n *jsontree.Node, key, text string) {
			files.hidden = append(files.hidden, listed{n, key, text})
		}),
		each("envVars", "name", func(_ *jsontree.Node, _, text string) {
			env := &im.out.Environment
			for i, name := range env.Pass {
				if name == strings.TrimSpace(text) {
					env.Pass = append(env.Pass[:i:i], env.Pass[i+1:]...)
					break
				}
			}
		}),
		im.setting("allowPlaintextInject", why), im.setting("awsPairs", why), im.setting("sigv4", why),
	)
}
