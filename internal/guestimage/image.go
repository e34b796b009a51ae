package guestimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/safefile"
)

// Image is what a machine boots from.
type Image struct {
	Kernel []byte
	Initrd []byte // an archive with the modules; nil for a kernel that has all built in
}

// ModulesDir is where a machine finds its modules, in the order of their names.
const ModulesDir = "/carrel/modules"

// Build makes the image of a package with a kernel.
func Build(r io.Reader) (*Image, error) {
	d, err := readDeb(r)
	if err != nil {
		return nil, err
	}
	modules, err := ordered(d.modules)
	if err != nil {
		return nil, err
	}
	dir, a := strings.TrimPrefix(ModulesDir, "/"), new(archive)
	a.add(filepath.Dir(dir), asDir, 0, 0, nil)
	a.add(dir, asDir, 0, 0, nil)
	for i, m := range modules {
		a.add(fmt.Sprintf("%s/%02d-%s.ko", dir, i, m.name), asFile, 0, 0, m.text)
	}
	return &Image{Kernel: d.kernel, Initrd: a.end()}, nil
}

// Starting is the archive of a machine that starts a program, which gets the number 1.
func (i *Image) Starting(program []byte) []byte {
	a := new(archive)
	a.add("dev", asDir, 0, 0, nil)
	a.add("dev/null", asDevice, 1, 3, nil) // a Go program wants it before it can mount anything
	a.add("init", asRun, 0, 0, program)
	before := archive{text: slices.Clone(i.Initrd)}
	before.pad(blockSize)
	return append(before.text, a.end()...)
}

// Digest is the name of an image: no other one has it.
func (i *Image) Digest() string {
	sum := sha256.New()
	for _, part := range [][]byte{i.Kernel, i.Initrd} {
		one := sha256.Sum256(part)
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Dir is the directory of images in a user's cache, by the environment; "" where there is none.
func Dir(getenv func(string) string) string {
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "carrel", "vm")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "carrel", "vm")
	}
	return ""
}

// Names in the directory of images, and in that of one.
const (
	currentName = "current" // the digest of the image that machines are started from
	kernelName  = "kernel"
	initrdName  = "initrd"
)

// Save keeps an image, and has machines started from it.
func (i *Image) Save(dir string) error {
	at := filepath.Join(dir, i.Digest())
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		text []byte
	}{
		{filepath.Join(at, kernelName), i.Kernel}, {filepath.Join(at, initrdName), i.Initrd},
		{filepath.Join(dir, currentName), []byte(i.Digest() + "\n")},
	} {
		if err := safefile.Write(f.path, f.text, safefile.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// buildHint says how an image is made.
const buildHint = "make one with `carrel vm build-image`"

// Load reads the image that was kept last. One that is not what it was is refused.
func Load(dir string) (*Image, error) {
	text, err := readFile(filepath.Join(dir, currentName), 100)
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, &advice.Error{Err: errors.New("there is no image to start a machine from"), Hint: buildHint}
	}
	if err != nil {
		return nil, err
	}
	digest := strings.TrimSpace(string(text))
	if !fs.ValidPath(digest) || strings.Contains(digest, "/") {
		return nil, &advice.Error{Err: fmt.Errorf("%s names the image %.80q", filepath.Join(dir, currentName), digest), Hint: buildHint}
	}
	i, err := Read(filepath.Join(dir, digest, kernelName), filepath.Join(dir, digest, initrdName))
	if err == nil && i.Digest() != digest {
		err = fmt.Errorf("the image %s was changed since it was made", filepath.Join(dir, digest))
	}
	if err != nil {
		return nil, &advice.Error{Err: err, Hint: buildHint}
	}
	return i, nil
}

// Read reads a kernel, and an archive with its modules where that is not "".
func Read(kernel, initrd string) (i *Image, err error) {
	i = new(Image)
	if i.Kernel, err = readFile(kernel, maxKernel); err == nil && initrd != "" {
		i.Initrd, err = readFile(initrd, maxModules)
	}
	return i, err
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAll(f, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}
