package sandbox

import (
	"os"

	"carrel/internal/inside"
	"carrel/internal/lowlevel"
	walls "carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"
	"carrel/sandbox/policyfile"
)

// childArg0 is the name under which a program is its own supervisor, with the
// policy on one descriptor and the result on another.
const (
	childArg0 = "carrel-sandbox-child"
	policyFD  = 3
	resultFD  = 4
)

// called says that Init has run: without it the program would start itself as
// itself.
var called bool

// Init makes a program able to start itself as the parts that build and hold
// the walls. Call it first in main, before flags are looked at and anything is
// opened or started; where the process is one of those parts it does not
// return. What runs before main (func init, package variables) runs there, too.
//
// A program that gives Cmd.Program needs no Init.
func Init() {
	called = true
	switch arg0 := os.Args[0]; {
	case arg0 == walls.StageArg0:
		stage.Main()
	case inside.IsHelper(arg0):
		os.Exit(inside.Main(os.Args))
	case arg0 == childArg0:
		os.Exit(supervise(os.Args[1:]))
	}
}

// supervise runs one command under the policy that the parent hands over.
func supervise(argv []string) int {
	result := os.NewFile(resultFD, "the result")
	p, err := policyfile.ReadFrom(os.NewFile(policyFD, "the policy"), "policy")
	r := &lowlevel.Result{}
	if err != nil {
		r = lowlevel.Refused(err)
	} else {
		r, _ = lowlevel.Run(p, "policy", argv, os.Environ())
	}
	line, err := r.JSON()
	if err == nil {
		_, err = result.Write(line)
	}
	if err != nil {
		return 125 // the parent knows no result
	}
	return r.Exit
}
