package machine

import (
	"carrel/internal/config"
	"carrel/internal/lima"
	"carrel/internal/policy"
)

// insideSuffix tells the machine where Carrel works from the one of the same project where it works
// outside.
const insideSuffix = "-inside"

// SpecInside makes the spec of a machine of a project, by its id, where Carrel works.
func SpecInside(set *config.Lima, project, id string) (*lima.Spec, error) {
	s, err := spec(set, policy.NetOpen, id+insideSuffix)
	if err != nil {
		return nil, err
	}
	s.Project = project
	if _, _, err := s.Template(); err != nil {
		return nil, err
	}
	return s, nil
}
