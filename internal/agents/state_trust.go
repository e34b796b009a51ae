package agents

import (
	"encoding/json"
	"path"
)

// projectsKey holds an object for each project by its path, in the files that have any.
const projectsKey = "projects"

// trust carries over for one project what the host has said yes to there, or in a
// directory around it; a no, and all else of a project, stays outside.
func (p JSONPart) trust(host, mine object, project string) {
	if len(p.Trust) == 0 || !path.IsAbs(project) {
		return
	}
	theirs, err := parseObject(host[projectsKey])
	if err != nil {
		return
	}
	all, err := parseObject(mine[projectsKey])
	if err != nil {
		all = object{}
	}
	own, err := parseObject(all[project])
	if err != nil {
		own = object{}
	}
	changed := false
	for _, key := range p.Trust {
		if own[key] == nil && accepted(theirs, key, project) {
			own[key], changed = json.RawMessage("true"), true
		}
	}
	if !changed {
		return
	}
	if all[project], err = json.Marshal(own); err != nil {
		return
	}
	if text, err := json.Marshal(all); err == nil {
		mine[projectsKey] = text
	}
}

// accepted looks for a yes from the project up.
func accepted(projects object, key, project string) bool {
	for dir := path.Clean(project); ; dir = path.Dir(dir) {
		if o, err := parseObject(projects[dir]); err == nil && string(o[key]) == "true" {
			return true
		}
		if dir == "/" {
			return false
		}
	}
}
