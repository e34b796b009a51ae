// Package sentry makes the machines of backend gvisor for package machine: each run has a sandbox of
// its own, with the system of this host as a plan shows it. Two processes of carrel-relay are in one: what
// carries connections, and what starts commands. When either ends, or the run, all of it does.
package sentry
