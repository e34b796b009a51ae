package egress

import (
	"io"
	"net/netip"
	"os"
	"strings"
)

// hostsFile is the host's own list of names, hosts(5).
const hostsFile = "/etc/hosts"

// maxHosts bounds what is read of it, in bytes.
const maxHosts = 1 << 20

// inHosts looks for a name of one label in the host's list. Package net finds names with
// a dot there by itself. One without is asked for with a final dot, so that no search
// domain is tried, and with that it is in no list.
func inHosts(file, name string) (addrs []netip.Addr) {
	if strings.Contains(name, ".") {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHosts))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, n := range fields[1:] {
			if strings.EqualFold(strings.TrimSuffix(n, "."), name) {
				addrs = append(addrs, addr)
				break
			}
		}
	}
	return addrs
}
