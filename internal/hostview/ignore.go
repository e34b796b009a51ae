package hostview

import (
	"slices"
	"strings"
)

// WithIgnored has git in a workspace ignore patterns, one a line, beside what the files of the
// workspace's home say already. Without a home, or patterns, the files stay as they are.
func WithIgnored(files []File, home string, patterns []byte) []File {
	if len(patterns) == 0 || home == "" {
		return files
	}
	name := home + "/.config/git/ignore"
	files = slices.Clone(files)
	for i := range files {
		if files[i].Path == name {
			files[i].Data = append(append(slices.Clone(files[i].Data), '\n'), patterns...)
			return files
		}
	}
	return append(files, File{Path: name, Data: patterns, Perm: 0o644, Reason: "masked files for Git to ignore"})
}

// GitPattern makes a name plain in a gitignore(5) file.
func GitPattern(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(`*?[]\! #`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
