package house

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestHostsManual holds docs/hosts.md to the presets that there are. Write it
// anew with go test ./internal/house -run TestHostsManual -update.
func TestHostsManual(t *testing.T) {
	var b strings.Builder
	b.WriteString("| preset | for | hosts |\n|---|---|---|\n")
	for _, p := range policy.BuiltinHostPresets() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", p.Name, p.Title, strings.Join(p.Hosts, "` `"))
	}
	replaceGenerated(t, "docs/hosts.md", "TestHostsManual", map[string]string{"presets": b.String()})
}
