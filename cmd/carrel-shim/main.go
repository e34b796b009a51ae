// Command carrel-shim stands for the host commands inside, as carrel itself does where it
// is not there: it is small, and so starts faster. It lies beside carrel, and is started
// inside by the name of a command; see internal/hostexec/shim.
package main

import (
	"fmt"
	"os"

	"carrel/internal/hostexec/shim"
)

func main() {
	name := ""
	if len(os.Args) > 0 {
		name = shim.Name(os.Args[0])
	}
	if name == "" {
		fmt.Fprintln(os.Stderr, "carrel-shim: carrel starts it inside a workspace, by the name of a host command")
		os.Exit(125)
	}
	os.Exit(shim.Main(name, os.Args[1:]))
}
