// Package containercmd holds the commands about containers and their images: container and what
// is below it, which build, fetch, import, check, list and remove images, and show what is taken
// of a project's devcontainer.json; and install-dev, which puts a program that was built just
// now into images and running containers.
package containercmd

import (
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "container", Make: containerCommand},
		{Name: "install-dev", Make: installDevCommand},
	}
}

func containerCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "container",
		Short: "Build, fetch, import, list and remove images for containers",
		Long: `Makes and removes the images that --backend container runs workspaces in, with podman
or docker. Images that Carrel makes carry its label, and it removes no other.
` + status,
		Example: `  carrel container build claude
  carrel container list
  carrel container prune --dry-run`,
	}
	return cmdline.Group(cmd, buildCommand(env), pullCommand(env), importCommand(env), listCommand(env), checkCommand(env),
		pruneCommand(env), initCommand(env), devcontainerCommand(env))
}
