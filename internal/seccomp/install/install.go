// Package install puts a system call filter on the calling thread. The stage installs
// what package seccomp has built by it, and so do the tests that try filters on the kernel.
//
// It imports nothing of this module: the stage is small, and gets a filter as bytes.
package install
