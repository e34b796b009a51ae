// Package devcontainer reads the devcontainer.json of a project: the image, the user, variables
// and lifecycle commands that it names for its container.
//
// The file is the project's, and who writes it may be anyone. So it only chooses among what the
// user allows: [Options] say which images and variables it may name, and whether its commands
// are run, which is inside the walls. Mounts, privileges, ports, arguments of the engine and
// commands for the host are never taken. What is not taken is listed with the reason, and so is
// a name that is not known.
//
// https://containers.dev/implementors/json_reference/ describes the format.
package devcontainer
