// Package quickexec runs a command in a named workspace with the caller's standard
// descriptors: it asks by the workspace's socket, hands signals on, and gives the last line of
// the answer. That is all of `carrel exec` without a terminal, for package attach as well.
//
// It is also the part of carrel that works before the rest of it is initialised. Go initialises
// packages one after the other, each after its imports, and of those that are ready the first by
// import path. So a package with few imports comes before most others, and [Early], which its
// importer's init function calls, can end the process before them. What it does not understand in
// full it leaves to main: other flags, a terminal, a ceiling, any refusal. See package first.
//
// What costs here is what is imported. Each of package net, encoding/json, path/filepath and
// golang.org/x/sys/unix would have a hundred packages initialised before. A test of package
// house holds that.
package quickexec
