//go:build linux && (amd64 || arm64)

// Command carrel-gvisor is gVisor's runsc, with what makes the file system that a sandbox of
// backend gvisor sees. It lies beside carrel, which starts it; see internal/gvisor. runsc starts
// further processes of it: those that serve files, and the sandbox's kernel.
package main

import (
	"fmt"
	"os"

	"carrel/internal/gvisor"

	"gvisor.dev/gvisor/runsc/cli/maincli"
)

func main() {
	if gvisor.IsPrepare(os.Args) {
		args, err := gvisor.Prepare()
		if err != nil {
			fmt.Fprintln(os.Stderr, "carrel-gvisor:", err)
			os.Exit(125)
		}
		os.Args = args
	}
	maincli.Main() // also of the processes that runsc starts of this program
}
