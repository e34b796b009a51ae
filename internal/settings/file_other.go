//go:build !unix

package settings

import (
	"io/fs"
	"os"
)

func ownFile(fs.FileInfo) error { return nil }

func keep(_ *os.File, info fs.FileInfo, to *os.File) error { return to.Chmod(info.Mode().Perm()) }
