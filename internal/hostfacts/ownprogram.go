package hostfacts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/policy"
)

// Small programs beside our own. Where one is not there, or of another build, our own program
// does the same.
const (
	stageBeside  = "carrel-stage"  // the first process in the walls
	fileBeside   = "carrel-file"   // carries out a file tool's request inside
	relayBeside  = "carrel-relay"  // serves the project in a virtual machine
	gvisorBeside = "carrel-gvisor" // runs sandboxes of gVisor
)

// OwnProgramRules gives the rules that keep commands from changing what the person outside starts,
// where that lies in a place which they may write. self is the path of our own program.
func OwnProgramRules(p *policy.Effective, self string) (rules []policy.Rule) {
	dir := filepath.Dir(self)
	for _, at := range []string{self, filepath.Join(dir, stageBeside), filepath.Join(dir, fileBeside)} {
		if d := p.Lookup(at); d.Access == policy.Write && d.Rule.Path != p.Scope.Tmp {
			source := policy.Source{Layer: policy.LayerDefault, Text: "carrel's own program"}
			rules = append(rules, policy.Rule{Path: at, Access: policy.Read, Source: source})
		}
	}
	return rules
}

// OwnProgram is the canonical path of this program.
func OwnProgram() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("finding our own program: %w", err)
	}
	if strings.HasSuffix(self, " (deleted)") {
		return "", errors.New("our own program was replaced while it ran; start it again")
	}
	return self, nil
}
