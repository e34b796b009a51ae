// Package clitest runs the commands of a group in the process of a test. It gives them a home, a
// state directory and a project of the test's own, and gives back what they print and the exit
// status. Only tests import it. A command that starts this program again, as carrel start does,
// would start the test: give it --dry-run.
package clitest
