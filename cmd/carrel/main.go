// Command carrel runs agents and other programs behind walls. See internal/cli
// for the commands; this file only decides which of its three parts a process
// is: the stage, a helper inside the walls, or the program itself.
package main

import (
	"os"

	"carrel/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
