package xvfb

import (
	"bytes"
	"fmt"
	"strings"
)

// Compiler is the program that a server has keyboard maps compiled by, also at its
// start, which takes a third of the time of that. Keymaps is where its sources are.
const (
	Compiler = "/usr/bin/xkbcomp"
	Keymaps  = "/usr/share/X11/xkb"
)

// Keymap is the map that a server begins with, as it asks the compiler for it (the
// form is XkbWriteXKBKeymapForNames' of xkb/ddxLoad.c and xkbfmisc.c).
const Keymap = `xkb_keymap "default" {
    xkb_keycodes             { include "evdev+aliases(qwerty)" };
    xkb_types                { include "complete" };
    xkb_compatibility        { include "complete" };
    xkb_symbols              { include "pc+us+inet(evdev)" };
    xkb_geometry             { include "pc(pc105)" };
};
`

// maxKeymap bounds a compiled map; 12 KiB are common.
const maxKeymap = 64 << 10

// CompileArgs has the compiler read a map from its standard input and write it,
// compiled, to a file.
func CompileArgs(file string) []string {
	return []string{Compiler, "-w", "0", "-R" + Keymaps, "-xkm", "-", file}
}

// CheckKeymap says whether something can be a compiled map: it begins with the
// format's version, 15, and its name (XKMformat.h).
func CheckKeymap(b []byte) error {
	if len(b) > maxKeymap || !bytes.HasPrefix(b, []byte("\x0fmkx")) {
		return fmt.Errorf("no compiled keyboard map, in %d bytes of at most %d", len(b), maxKeymap)
	}
	return nil
}

// CompilerScript is a program that stands where the server looks for the compiler:
// it answers the question for [Keymap] with the file of what was compiled before, and
// hands every other on to the compiler, which has another name there.
func CompilerScript(compiled, compiler string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return `#!/bin/sh
asked=
while IFS= read -r line; do asked="$asked$line
"; done
for to; do :; done
[ "$asked" = ` + quote(Keymap) + ` ] && exec cat ` + quote(compiled) + ` >"$to"
printf %s "$asked" | ` + quote(compiler) + ` "$@"
`
}
