// Command carrel-relay mounts a workspace's directories inside a virtual machine: it hands
// the requests of the machine's kernel to its standard output, and takes the answers from its
// standard input. As -serve it starts commands there. carrel starts it; see internal/fuserelay
// and internal/guestagent. By the names of host commands and helpers, which lead to it there, it is
// those. As the first program of a virtual machine of backend vm it makes that one's system, see
// internal/guestinit.
package main

import (
	"fmt"
	"os"
	"path"

	"carrel/internal/fileops"
	"carrel/internal/fuserelay"
	"carrel/internal/guestagent"
	"carrel/internal/guestinit"
	"carrel/internal/gvisor"
	"carrel/internal/hostexec/shim"
	"carrel/internal/inside"
	"carrel/internal/inside/mark"
)

func main() {
	switch name := shim.Name(os.Args[0]); {
	case os.Getpid() == 1 && os.Args[0] == "/init":
		guestinit.Main()
	case name != "":
		os.Exit(shim.Carried(name, os.Args[1:]))
	case inside.IsHelper(os.Args[0]):
		os.Exit(inside.Main(os.Args))
	case path.Base(os.Args[0]) == mark.Name:
		os.Exit(mark.Main(os.Args[1:], os.Stdin, os.Stderr, inside.Step))
	case path.Base(os.Args[0]) == inside.FileHelper:
		os.Exit(fileops.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	case len(os.Args) > 1 && os.Args[1] == "-serve":
		end(guestagent.Main(os.Args[2:]))
	case len(os.Args) == 2 && os.Args[1] == gvisor.StartsArg:
		end(gvisor.Starts())
	}
	os.Exit(fuserelay.Main(os.Args[1:]))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "carrel-relay:", err)
		os.Exit(125)
	}
	os.Exit(0)
}
