// Command carrel-stage is the first process in the walls, as carrel itself is where it is not
// there: it is small, and so starts faster. It lies beside carrel, which starts it; see
// internal/sandbox/stage.
package main

import (
	"fmt"
	"os"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"
)

func main() {
	if len(os.Args) == 0 || !sandbox.IsStage(os.Args[0]) {
		fmt.Fprintln(os.Stderr, "carrel-stage: carrel starts it")
		os.Exit(125)
	}
	stage.Main()
}
