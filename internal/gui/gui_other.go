//go:build !linux

package gui

// Desktop is nothing here: there are no walls to run a server in.
type Desktop struct{}
