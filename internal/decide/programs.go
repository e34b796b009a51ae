package decide

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/hostfile"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
)

const programsHint = "add it to programs.allow (in a ceiling file: apps.allow)"

// programsHeld finds the files that may be started, and refuses what cannot be
// held: a command that is not among them, and walls that lack Landlock's rules
// about files.
func (p *startable) programsHeld() error {
	if p.Policy.Programs == nil {
		return nil
	}
	r := p.Reason(policy.DimPrograms)
	refuse := func(code, subject, message, hint string) error {
		return &api.Denial{Code: code, Operation: "exec", Subject: subject, Rule: r.Value, Source: r.Source.String(), Message: message, Hint: hint}
	}
	allowed, err := p.allowedFiles()
	if err != nil {
		return err
	}
	name := ""
	if len(p.Request.Argv) > 0 {
		name = p.Request.Argv[0]
	}
	p.allowed = allowed
	if name != "" {
		if why := p.mayLaunch("exec", name, ""); why != nil {
			return why
		}
	}
	if p.Policy.Nested == policy.NestedFull {
		return refuse(api.CodeNotHeld, "programs.allow", "programs.allow cannot be held with --nested full: it is Landlock that holds it, and Landlock's rules about files make mounts impossible", "use --nested userns or none")
	}
	if abi, err := landlock.ABI(); err != nil || abi < 3 {
		return refuse(api.CodeNotHeld, "programs.allow", fmt.Sprintf("programs.allow cannot be held here: it takes Landlock as of Linux 6.2 (ABI 3), this kernel has ABI %d", abi), "use a newer kernel, with landlock in its boot option lsm=, or leave the list out")
	}
	p.starts = allowed
	for _, file := range allowed {
		if real, kind := p.Facts.Resolve(loaderOf(file)); kind == sandbox.KindFile && !slices.Contains(p.starts, real) {
			p.starts = append(p.starts, real)
		}
	}
	return nil
}

// allowedFiles are the files that the list names. A bare name is what PATH has
// outside, but for what a command inside could have put there. What is not on
// this machine allows nothing: a list may be for several.
func (p *startable) allowedFiles() ([]string, error) {
	var files []string
	for _, v := range p.Policy.Programs {
		full := v.V
		if !filepath.IsAbs(full) {
			var err error
			if full, err = p.LookPath(full); err != nil {
				continue
			}
		}
		real, kind := p.Facts.Resolve(full)
		switch {
		case kind == sandbox.KindDir:
			return nil, &api.Denial{Code: api.CodeNotHeld, Operation: "exec", Subject: v.V, Rule: v.V, Source: v.Source.String(),
				Message: fmt.Sprintf("programs.allow names the directory %q", v.V), Hint: "name the programs themselves"}
		case kind != sandbox.KindFile || full != v.V && p.Policy.Lookup(real).Access == policy.Write:
		default:
			files = append(files, real)
		}
	}
	return files, nil
}

// loaderOf gives the dynamic loader that a program for this machine names, ""
// where it names none. The kernel opens it as a program too.
func loaderOf(file string) string {
	head, err := hostfile.ReadHead(file, 64<<10)
	if err != nil {
		return ""
	}
	return loaderIn(head)
}

// loaderIn reads the beginning of an ELF file of 64 bits, little endian.
func loaderIn(head []byte) string {
	const (
		headerSize = 56
		ptInterp   = 3
	)
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	at, size, count := binary.LittleEndian.Uint64(head[32:]), binary.LittleEndian.Uint16(head[54:]), binary.LittleEndian.Uint16(head[56:])
	if size != headerSize {
		return ""
	}
	for i := range uint64(count) {
		start := at + i*headerSize
		if start > uint64(len(head)-headerSize) {
			return ""
		}
		header := head[start : start+headerSize]
		if binary.LittleEndian.Uint32(header) != ptInterp {
			continue
		}
		from, length := binary.LittleEndian.Uint64(header[8:]), binary.LittleEndian.Uint64(header[32:])
		if from > uint64(len(head)) || length > uint64(len(head))-from {
			return ""
		}
		name, _, _ := strings.Cut(string(head[from:from+length]), "\x00")
		return name
	}
	return ""
}
