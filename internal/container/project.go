package container

import "carrel/internal/devcontainer"

// Project is what a project's devcontainer.json says of its container, as far as the user lets
// the project choose.
type Project = devcontainer.Config

// ProjectOptions say what that is.
type ProjectOptions = devcontainer.Options

// ReadProject reads that file.
func ReadProject(o ProjectOptions) (*Project, error) { return devcontainer.Read(o) }
