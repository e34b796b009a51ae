package a11y

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

const maxAddress = 4096 // bytes of a bus address; real ones have about 80

// unixPath returns the socket of a bus address, such as
// "unix:path=/run/user/1000/at-spi/bus,guid=..." (D-Bus specification, Server
// Addresses). Of several alternatives it takes the first that names a path;
// abstract sockets belong to a network namespace, not to a place that anybody
// could allow, and are not taken.
func unixPath(address string) (string, error) {
	if len(address) > maxAddress {
		return "", fmt.Errorf("a bus address of %d bytes, want at most %d", len(address), maxAddress)
	}
	for one := range strings.SplitSeq(address, ";") {
		rest, ok := strings.CutPrefix(one, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(rest, ",") {
			value, ok := strings.CutPrefix(pair, "path=")
			if !ok {
				continue
			}
			p, err := url.PathUnescape(value)
			if err != nil {
				return "", fmt.Errorf("bus address %q: %w", address, err)
			}
			if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsRune(p, 0) {
				return "", fmt.Errorf("bus address %q: %q is no clean absolute path", address, p)
			}
			return p, nil
		}
	}
	return "", fmt.Errorf("bus address %q names no unix path", address)
}
