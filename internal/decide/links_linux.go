package decide

import (
	"carrel/internal/broker"
	"carrel/internal/guard"
	"carrel/internal/protectednames"
)

// secondNames are protected files of which there is another name at the start.
func secondNames(p *Decision) map[broker.Inode]string {
	var files, trees []string
	for i := range p.Guarded.Named {
		if t := &p.Guarded.Named[i]; t.Path != "" {
			files = append(files, t.Path)
		}
	}
	if p.Place.Git.Dir != "" {
		dirs, _ := p.Place.Git.Repositories()
		for _, dir := range dirs {
			for _, name := range protectednames.ProtectedGitNames {
				files = append(files, dir+"/"+name)
			}
		}
	}
	for _, top := range p.Guarded.Places {
		trees = append(trees, top.Pattern)
	}
	return guard.SecondNames(files, trees)
}
