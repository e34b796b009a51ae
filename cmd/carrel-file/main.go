// Command carrel-file carries out one request of a file tool inside a workspace, as carrel
// itself does where it is not there: it is small, and so starts faster. It lies beside carrel;
// see internal/fileops.
package main

import (
	"os"

	"carrel/internal/fileops"
)

func main() { os.Exit(fileops.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
