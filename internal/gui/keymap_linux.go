package gui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/spool"
	"carrel/internal/xvfb"

	"golang.org/x/sys/unix"
)

// Where a compiled keyboard map is kept, and where it is in the
// walls of a display.
const (
	keymapFile      = "keymap"
	keymapHead      = "carrel-keymap 1 "
	maxKeymapFile   = 80 << 10
	keymapTime      = 5 * time.Second
	displayKeymap   = "/run/carrel/keymap.xkm"
	displayCompiler = "/run/carrel/xkbcomp"
)

// keymap is the keyboard map that displays begin with, compiled once for a machine: a
// server has it compiled anew at each start, which is a third of its start. Where it
// cannot be kept, displays start as they do without.
type keymap struct {
	state    string // the directory that it is kept in
	id       string // what it is compiled from; empty where it is not to be kept
	compiled []byte // nil where it has to be compiled
}

// keptKeymap reads what was compiled before and is kept in a directory.
func keptKeymap(state string, place *xvfb.Place) (k keymap) {
	var on unix.Statfs_t
	err := unix.Statfs(place.Dir, &on)
	if state == "" || err != nil || on.Flags&unix.ST_NOEXEC != 0 {
		return k
	}
	id, err := xvfb.KeymapID()
	if err != nil {
		return k
	}
	k.state, k.id = state, id
	dir, err := os.Open(k.state)
	if err != nil {
		return k
	}
	defer dir.Close()
	b, err := spool.ReadFile(dir, keymapFile, maxKeymapFile)
	if err != nil {
		return k
	}
	if b, ok := bytes.CutPrefix(b, []byte(keymapHead+k.id+"\n")); ok && xvfb.CheckKeymap(b) == nil {
		k.compiled = b
	}
	return k
}

// forget has the next display compile it again.
func (k keymap) forget() { _ = os.Remove(filepath.Join(k.state, keymapFile)) }

// mounts have the server find it. The program that answers in the compiler's place is a
// file of the display's directory: what is made in memory cannot be executed.
func (k keymap) mounts(place *xvfb.Place) (binds, files []sandbox.Mount, err error) {
	if k.compiled == nil {
		return nil, nil, nil
	}
	script := filepath.Join(place.Dir, "xkbcomp")
	_ = os.Remove(script) // of an earlier server
	if err := os.WriteFile(script, []byte(xvfb.CompilerScript(displayKeymap, displayCompiler)), 0o500); err != nil {
		return nil, nil, err
	}
	why := "the keyboard map, compiled before"
	return []sandbox.Mount{
		{Kind: sandbox.MountBind, Source: xvfb.Compiler, Target: displayCompiler, ReadOnly: true, Reason: why},
		{Kind: sandbox.MountBind, Source: script, Target: xvfb.Compiler, ReadOnly: true, Reason: why},
	}, []sandbox.Mount{{Kind: sandbox.WriteFile, Target: displayKeymap, Data: k.compiled, Perm: 0o644, Reason: why}}, nil
}

// compile makes it and keeps it for the next display, in walls where no client has been:
// nobody has had a part in it.
func (k keymap) compile(ctx context.Context, s *xserver, env []string) {
	if k.id == "" || k.compiled != nil {
		return
	}
	b, err := s.compile(ctx, env)
	if err != nil || xvfb.CheckKeymap(b) != nil {
		return // the server will say what is wrong with it
	}
	if dir, err := os.Open(k.state); err == nil {
		_ = spool.WriteOften(dir, keymapFile, append([]byte(keymapHead+k.id+"\n"), b...))
		dir.Close()
	}
}

// compile gives the compiled map.
func (s *xserver) compile(ctx context.Context, env []string) ([]byte, error) {
	in, asked, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	_, err = io.WriteString(asked, xvfb.Keymap) // a pipe holds it
	asked.Close()
	if err != nil {
		return nil, err
	}
	const file = "/tmp/keymap.xkm"
	args := append([]string{"/bin/sh", "-c", `"$@" && exec cat ` + file, "sh"}, xvfb.CompileArgs(file)...)
	out, _, id, err := s.start(args, env, in)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(ctx, keymapTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) })()
	b, err := io.ReadAll(io.LimitReader(out, maxKeymapFile))
	if err != nil {
		return nil, err
	}
	exit, err := s.walls.Wait(id)
	if err == nil && (exit.Code != 0 || exit.Signal != 0) {
		err = errors.New(describeEnd(exit, nil))
	}
	return b, err
}
