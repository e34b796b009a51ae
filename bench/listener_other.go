//go:build !linux

package main

import "errors"

// listenFor is not measured here: there are no walls.
func listenFor([]string, bool) error { return errors.ErrUnsupported }

func listened([]string) error { return errors.ErrUnsupported }
