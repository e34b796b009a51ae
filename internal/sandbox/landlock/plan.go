package landlock

import (
	"errors"
	"fmt"
	"path"
)

// File rights, linux/landlock.h.
const (
	fsExecute    = 1 << 0
	fsWriteFile  = 1 << 1
	fsReadFile   = 1 << 2
	fsReadDir    = 1 << 3
	fsRemoveDir  = 1 << 4
	fsRemoveFile = 1 << 5
	fsMakeChar   = 1 << 6
	fsMakeDir    = 1 << 7
	fsMakeReg    = 1 << 8
	fsMakeSock   = 1 << 9
	fsMakeFifo   = 1 << 10
	fsMakeBlock  = 1 << 11
	fsMakeSym    = 1 << 12
	fsRefer      = 1 << 13 // ABI 2
	fsTruncate   = 1 << 14 // ABI 3
	fsIoctlDev   = 1 << 15 // ABI 5

	fsMake   = fsMakeChar | fsMakeDir | fsMakeReg | fsMakeSock | fsMakeFifo | fsMakeBlock | fsMakeSym
	fsRemove = fsRemoveDir | fsRemoveFile

	// fsOfFile are the rights that the kernel takes for an object that is no
	// directory; it refuses a rule with others.
	fsOfFile = fsExecute | fsWriteFile | fsReadFile | fsTruncate | fsIoctlDev
)

// Scopes, linux/landlock.h.
const (
	scopeAbstract = 1 << 0
	scopeSignal   = 1 << 1
)

// The lowest ABI for each thing.
const (
	abiFiles   = 3
	abiDevices = 5
	abiScopes  = 6
)

// level is what a ruleset comes to on one ABI.
type level struct {
	fs     uint64 // file rights to handle
	scopes uint64
}

// plan checks r and computes its level on a kernel with ABI abi. It says what
// is missing before anything is applied.
func (r Ruleset) plan(abi int) (level, error) {
	if err := r.check(); err != nil {
		return level{}, err
	}
	for _, need := range []struct {
		feature string
		wanted  bool
		abi     int
	}{
		{"file rules", r.Files, abiFiles},
		{"scope for abstract sockets", r.ScopeAbstract, abiScopes},
		{"scope for signals", r.ScopeSignal, abiScopes},
		{"level asked for", r.MinABI > 0, r.MinABI},
	} {
		if need.wanted && abi < need.abi {
			return level{}, &UnsupportedError{Feature: need.feature, Found: abi, Needed: need.abi}
		}
	}
	var l level
	if r.Files {
		l.fs = fileRights(abi)
	}
	if r.ScopeAbstract {
		l.scopes |= scopeAbstract
	}
	if r.ScopeSignal {
		l.scopes |= scopeSignal
	}
	return l, nil
}

// check finds mistakes of the caller.
func (r Ruleset) check() error {
	if !r.Files && !r.ScopeAbstract && !r.ScopeSignal {
		return errors.New("landlock ruleset: it asks for nothing, want Files or a scope")
	}
	if !r.Files && len(r.Rules) > 0 {
		return fmt.Errorf("landlock ruleset: %d rules without Files", len(r.Rules))
	}
	for i, rule := range r.Rules {
		switch {
		case rule.Path != "" && !path.IsAbs(rule.Path):
			return fmt.Errorf("landlock rule %d: path %q is not absolute", i, rule.Path)
		case rule.Path == "" && rule.FD < 0:
			return fmt.Errorf("landlock rule %d: neither a path nor a descriptor", i)
		case rule.Access == 0 || rule.Access&^ReadWrite != 0:
			return fmt.Errorf("landlock rule %d, path %q: access %#x, want a set of Read, Execute, Write, Ioctl and Truncate", i, rule.Path, rule.Access)
		}
	}
	return nil
}

// fileRights returns the file rights that a kernel with ABI abi knows, as far
// as this package uses them.
func fileRights(abi int) uint64 {
	rights := uint64(fsExecute | fsWriteFile | fsReadFile | fsReadDir | fsRemove | fsMake)
	if abi >= 2 {
		rights |= fsRefer
	}
	if abi >= 3 {
		rights |= fsTruncate
	}
	if abi >= 5 {
		rights |= fsIoctlDev
	}
	return rights
}

// rights returns the file rights of a, before those are cut off that the
// kernel does not know or the object cannot have.
func (a Access) rights() uint64 {
	var rights uint64
	if a&Read != 0 {
		rights |= fsReadFile | fsReadDir
	}
	if a&Execute != 0 {
		rights |= fsExecute
	}
	if a&Write != 0 {
		rights |= fsWriteFile | fsTruncate | fsRefer | fsRemove | fsMake
	}
	if a&Truncate != 0 {
		rights |= fsTruncate
	}
	if a&Ioctl != 0 {
		rights |= fsIoctlDev
	}
	return rights
}
