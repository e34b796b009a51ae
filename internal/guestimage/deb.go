package guestimage

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/therootcompany/xz"
)

// Bounds of what is read of a package, in bytes.
const (
	maxKernel  = 64 << 20
	maxModule  = 32 << 20
	maxModules = 1 << 30 // all together
)

// deb is what is used of a package.
type deb struct {
	kernel  []byte
	modules map[string][]byte // by name
}

// readDeb reads a package of Debian, deb(5): an archive of ar with a compressed one of tar.
func readDeb(r io.Reader) (*deb, error) {
	data, err := dataOf(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	d, all := &deb{modules: make(map[string][]byte)}, 0
	for archive := tar.NewReader(data); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, data) // it says that it is whole at its end
			if err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the files of the package: %w", err)
		}
		dir, name := path.Split(path.Clean("/" + h.Name))
		module, _, isModule := strings.Cut(name, ".ko")
		switch {
		case h.Typeflag != tar.TypeReg:
		case dir == "/boot/" && strings.HasPrefix(name, "vmlinuz-"):
			if d.kernel, err = readAll(archive, maxKernel); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Name, err)
			}
		case isModule && strings.Contains(dir, "/lib/modules/"):
			text, err := readModule(archive, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", h.Name, err)
			}
			if all += len(text); all > maxModules {
				return nil, fmt.Errorf("the modules of the package have more than %d bytes", maxModules)
			}
			d.modules[strings.ReplaceAll(module, "-", "_")] = text
		}
	}
	if d.kernel == nil {
		return nil, errors.New("the package has no /boot/vmlinuz-*: linux-image-*-amd64 is one that has")
	}
	return d, nil
}

// readModule reads a module, which newer packages have compressed.
func readModule(r io.Reader, name string) ([]byte, error) {
	if strings.HasSuffix(name, ".xz") {
		var err error
		if r, err = xz.NewReader(r, xz.DefaultDictMax); err != nil {
			return nil, err
		}
	}
	return readAll(r, maxModule)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}

const (
	arMagic  = "!<arch>\n"
	arHeader = 60 // of a member: name 16, time 12, owner 6, group 6, mode 8, size 10, end 2
)

// dataOf finds the files of a package.
func dataOf(r *bufio.Reader) (io.Reader, error) {
	magic := make([]byte, len(arMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != arMagic {
		return nil, errors.New("it is no package of Debian: a file that ends with .deb is one")
	}
	for header := make([]byte, arHeader); ; {
		if _, err := io.ReadFull(r, header); err != nil {
			return nil, errors.New("the package has no data.tar.xz: one of Debian 12 or newer has")
		}
		name := strings.TrimSuffix(strings.TrimRight(string(header[:16]), " "), "/")
		size, err := strconv.ParseInt(string(bytes.TrimRight(header[48:58], " ")), 10, 64)
		if err != nil || size < 0 {
			return nil, fmt.Errorf("the package says that its %.20q has %.10q bytes", name, header[48:58])
		}
		if name == "data.tar.xz" {
			data, err := xz.NewReader(io.LimitReader(r, size), xz.DefaultDictMax)
			if err != nil {
				return nil, fmt.Errorf("reading data.tar.xz of the package: %w", err)
			}
			return data, nil
		}
		if _, err := io.CopyN(io.Discard, r, size+size%2); err != nil {
			return nil, fmt.Errorf("reading %.20q of the package: %w", name, err)
		}
	}
}
