//go:build !linux

package container

func kernelRelease() string { return "" }

func hybridCgroups() bool { return false }

func ownedByOrdinaryUser(string) bool { return false }
