package foreign

import (
	"errors"
	"strings"

	"carrel/internal/jsontree"
	"carrel/internal/policy"
)

// host adds a domain to a list. NAME, *.NAME (its sub-names) and a port at the
// end mean the same in all the formats and here; what else is a rule here means
// something else there, or nothing.
func (im *importer) host(n *jsontree.Node, key, text string, list *[]string, allow bool) {
	name, _, _ := strings.Cut(text, ":")
	err := policy.CheckHostRule(text, allow)
	if strings.ContainsAny(text, "/ \t") || strings.HasPrefix(text, "**") && !im.apex || strings.HasPrefix(text, "preset:") {
		err = errors.New("want a name or an address, and a port at most")
	}
	switch {
	case allow && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		im.left(n, key, "localhost inside is the command's own; host_ports brings a port of the machine's in")
	case err != nil && allow:
		im.left(n, key, "%q cannot be listed here: %v", text, err)
	case err != nil:
		im.lose(n, key, "%q cannot be denied here: %v", text, err)
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
