// Package first has `carrel exec` done while the program is being initialised, and ends the
// process then. Only the program itself imports it. What is done, and why so early, is in
// package quickexec.
package first

import (
	"os"

	"carrel/internal/quickexec"
)

func init() {
	if status, done := quickexec.Early(); done {
		os.Exit(status)
	}
}
