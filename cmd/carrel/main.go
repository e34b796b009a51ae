// Command carrel runs agents and other programs behind walls. See internal/cli
// for the commands, and for which face of the program a process is: the stage, a helper
// inside the walls, the supervisor of a named workspace, or the program itself.
package main

import (
	"os"

	"carrel/internal/cli"
	_ "carrel/internal/quickexec/first" // an exec that it can do is done before main
)

func main() { os.Exit(cli.Main(os.Args)) }
