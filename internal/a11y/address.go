package a11y

import (
	"encoding/hex"
	"fmt"
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
			p, err := unescape(value)
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

// unescape undoes %XX.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%q ends within an escape", s)
		}
		v, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", fmt.Errorf("%q is no escape", s[i:i+3])
		}
		b.WriteByte(v[0])
		i += 2
	}
	return b.String(), nil
}
