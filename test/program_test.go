//go:build linux

package e2e

import "embed"

// programs are those of other languages that tests run. They are files, so that they can be
// read and checked as what they are.
//
//go:embed testdata/programs
var programs embed.FS

// program gives the text of one of them, by its path below testdata/programs.
func program(name string) string {
	text, err := programs.ReadFile("testdata/programs/" + name)
	if err != nil {
		panic(err) // the name is a constant of a test
	}
	return string(text)
}
