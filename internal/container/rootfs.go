package container

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// maxEntries bounds the files of a root directory that is imported.
const maxEntries = 2_000_000

// Skipped counts what an archive of a directory leaves out: devices, sockets and FIFOs.
type Skipped int

// Archive writes a root directory as a tar archive, without following a link. Everything
// belongs to root in it, as the owner outside is often who unpacked it. Set-id bits stay.
func Archive(root *os.Root, to io.Writer) (Skipped, error) {
	w, skipped, entries := tar.NewWriter(to), Skipped(0), 0
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("it has more than %d files", maxEntries)
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		link := ""
		switch info.Mode().Type() {
		case fs.ModeDir, 0:
		case fs.ModeSymlink:
			if link, err = root.Readlink(name); err != nil {
				return err
			}
		default:
			skipped++
			return nil
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
		if d.IsDir() {
			h.Name += "/"
		}
		if !info.Mode().IsRegular() {
			return w.WriteHeader(h)
		}
		return copyFile(root, w, h, info)
	})
	return skipped, errors.Join(err, w.Close())
}

// copyFile writes a regular file that is still the one that was looked at.
func copyFile(root *os.Root, w *tar.Writer, h *tar.Header, info fs.FileInfo) error {
	f, err := openRegular(root, h.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return fmt.Errorf("%s was replaced while it was read", path.Clean(h.Name))
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.CopyN(w, f, h.Size); err != nil {
		return fmt.Errorf("%s: %w", path.Clean(h.Name), err)
	}
	return nil
}
