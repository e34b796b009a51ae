package xvfb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// keymapSources are what a compiled map depends on, but for the server: packages
// replace files by renaming, which changes the directories too.
var keymapSources = []string{"", "rules", "keycodes", "types", "compat", "symbols", "geometry"}

// KeymapID names what [Keymap] is compiled from on this machine. It changes when the
// server, the compiler or its sources do.
func KeymapID() (string, error) {
	sum := sha256.New()
	files := []string{Server, Compiler}
	for _, dir := range keymapSources {
		files = append(files, filepath.Join(Keymaps, dir))
	}
	for i, file := range files {
		info, err := os.Lstat(file)
		if err != nil {
			return "", err
		}
		st := info.Sys().(*syscall.Stat_t)
		if want := i >= 2; info.IsDir() != want || !info.IsDir() && !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s is not the file that it is by default", file)
		}
		fmt.Fprintf(sum, "%s %d %d %d %d\n", file, st.Dev, st.Ino, st.Size, st.Ctim.Nano())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
