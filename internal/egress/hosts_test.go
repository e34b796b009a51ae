package egress

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNamesOfTheHostsFile: a name of one label is found in the host's list, in any case
// of letters and with all its addresses; others are the resolver's to find.
func TestNamesOfTheHostsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	text := "# nas 9.9.9.9\n10.0.0.5 nas.home.test NAS # db\nfd00::5\tnas\nnonsense nas\n10.0.0.6 nas2 nas2\n10.0.0.7"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"nas": {"10.0.0.5", "fd00::5"}, "nas2": {"10.0.0.6"}, "db": nil, "nas.home.test": nil, "": nil,
	} {
		var got []string
		for _, a := range inHosts(file, name) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
	if got := inHosts(file+".none", "nas"); got != nil {
		t.Errorf("without a list: %v", got)
	}
	// The resolver of a workspace looks there: the machine that runs this has the name.
	if addrs, err := resolve(t.Context(), "localhost"); err != nil || !slices.ContainsFunc(addrs, netip.Addr.IsLoopback) {
		t.Errorf("localhost is %v, %v", addrs, err)
	}
}
