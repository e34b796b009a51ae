package decide

import (
	"os"
	"path/filepath"

	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/registry"
	"carrel/internal/statedir"
)

// ownRules keep our own files from what we run: a command that may write home
// must not be able to widen the next run.
func (p *Decision) ownRules() []policy.FileRequest {
	var rules []policy.FileRequest
	for _, dir := range p.OwnDirs() {
		rules = append(rules, policy.FileRequest{Place: dir, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own files"}})
	}
	return rules
}

// OwnDirs are our own directories on this machine: of the configuration, the state, and the
// registry of workspaces.
func (p *Decision) OwnDirs() []string {
	var dirs []string
	if state := statedir.Path(p.Getenv); state != "" {
		dirs = append(dirs, state)
	}
	if dir, err := p.chosenHistory(); err == nil && dir != "" { // with an error nothing starts
		dirs = append(dirs, dir)
	}
	options := p.configOptions()
	if p.Request.Exact != nil {
		options.Home = p.Getenv("HOME")
	}
	if file := config.UserFile(options); file != "" {
		dirs = append(dirs, filepath.Dir(file))
	}
	return append(dirs, SupervisorDirs(p.Getenv)...)
}

// makeOwnDirs makes our directories where a writable home would let a command
// make them first: only what exists can be covered.
func (p *Decision) makeOwnDirs() {
	for _, dir := range p.OwnDirs() {
		if p.Policy.Lookup(filepath.Dir(dir)).Access == policy.Write {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				p.Note("%s cannot be made and so not be covered: %v", dir, err)
			}
			p.Facts.Forget(dir)
		}
	}
}

// SupervisorDirs are the places of the registry. A command must neither see
// nor write them.
func SupervisorDirs(getenv func(string) string) []string {
	return registry.Dirs(getenv("XDG_RUNTIME_DIR"), statedir.Path(getenv))
}
