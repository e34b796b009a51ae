package workspace

import (
	"os"
	"path/filepath"

	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// ownRules keep our own files from what we run: a command that may write home
// must not be able to widen the next run.
func (p *Prepared) ownRules() []policy.FileRequest {
	var rules []policy.FileRequest
	for _, dir := range p.ownDirs() {
		rules = append(rules, policy.FileRequest{Place: dir, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own files"}})
	}
	return rules
}

func (p *Prepared) ownDirs() []string {
	var dirs []string
	if state := statedir.Path(p.getenv); state != "" {
		dirs = append(dirs, state)
	}
	if dir, err := p.chosenHistory(); err == nil && dir != "" { // with an error nothing starts
		dirs = append(dirs, dir)
	}
	options := p.configOptions()
	if p.req.Exact != nil {
		options.Home = p.getenv("HOME")
	}
	if file := config.UserFile(options); file != "" {
		dirs = append(dirs, filepath.Dir(file))
	}
	return append(dirs, supervisorDirs(p.getenv)...)
}

// makeOwnDirs makes our directories where a writable home would let a command
// make them first: only what exists can be covered.
func (p *Prepared) makeOwnDirs() {
	for _, dir := range p.ownDirs() {
		if p.Policy.Lookup(filepath.Dir(dir)).Access == policy.Write {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				p.note("%s cannot be made and so not be covered: %v", dir, err)
			}
			p.facts.Forget(dir)
		}
	}
}
