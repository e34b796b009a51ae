package foreign

import (
	"strings"

	"carrel/internal/jsontree"
	"carrel/internal/policy"
)

// host adds a domain to a list. NAME, *.NAME (its sub-names) and a port at the
// end mean the same in all the formats and here.
func (im *importer) host(n *jsontree.Node, key, text string, list *[]string, allow bool) {
	name, _, _ := strings.Cut(text, ":")
	switch err := policy.CheckHostRule(text, allow); {
	case allow && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		im.left(n, key, "localhost inside is the command's own; host_ports brings a port of the machine's in")
	case strings.HasPrefix(strings.TrimSpace(text), "preset:"), err != nil && allow:
		im.left(n, key, "%q cannot be listed here%s", text, because(err))
	case err != nil:
		im.lose(n, key, "%q cannot be denied here%s", text, because(err))
	default:
		*list = append(*list, text)
	}
}

// deniedHost adds a domain that is never reached; "*" is every one.
func (im *importer) deniedHost(n *jsontree.Node, key, text string) {
	if text == "*" {
		im.noHosts = true
		return
	}
	im.host(n, key, text, &im.out.Network.DenyHosts, false)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
