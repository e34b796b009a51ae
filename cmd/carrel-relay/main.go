// Command carrel-relay mounts a workspace's directories inside a virtual machine: it hands
// the requests of the machine's kernel to its standard output, and takes the answers from its
// standard input. carrel starts it there; see internal/fuserelay.
package main

import (
	"os"

	"carrel/internal/fuserelay"
)

func main() { os.Exit(fuserelay.Main(os.Args[1:])) }
