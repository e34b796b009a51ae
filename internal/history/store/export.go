package store

import (
	"archive/tar"
	"maps"
	"slices"
	"strings"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"
)

// Unexported is something that an export does not hold.
type Unexported struct {
	Path   string
	Before bool // as the step found it, else as it left it
	Why    string
}

// xattrRecord is how a tar names an attribute.
const xattrRecord = "SCHILY.xattr."

// header says everything of a path but its content. The attributes that a tar
// cannot name are given.
func header(name string, s *journal.State) (h *tar.Header, unnamed []string) {
	h = &tar.Header{
		Name: name, Mode: int64(s.Mode), Uid: int(s.UID), Gid: int(s.GID),
		ModTime: journal.Moment(s.Mtime), Format: tar.FormatPAX, PAXRecords: make(map[string]string),
	}
	switch s.Kind {
	case journal.File:
		h.Typeflag, h.Size = tar.TypeReg, s.Size
	case journal.Dir:
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	case journal.Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, string(s.Target)
	case journal.FIFO:
		h.Typeflag = tar.TypeFifo
	}
	for _, k := range slices.Sorted(maps.Keys(s.Xattrs)) {
		if strings.ContainsAny(k, "=\x00") {
			unnamed = append(unnamed, k)
			continue
		}
		h.PAXRecords[xattrRecord+k] = string(s.Xattrs[k])
	}
	return h, unnamed
}

// exportName is a path in a tar: relative to the project what is in it, the whole
// path of anything else.
func exportName(project, side, path string) string {
	if pathname.Within(path, project) {
		return strings.TrimSuffix(pathname.Join(side, strings.TrimPrefix(path[len(project):], "/")), "/")
	}
	return "outside/" + side + path
}
