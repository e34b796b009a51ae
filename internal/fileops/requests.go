package fileops

import "time"

// Bounds of requests and answers. What a request may ask for beyond its default is
// never more than these.
const (
	MaxRequest  = 24 << 20 // bytes of a request's JSON
	MaxAnswer   = 8 << 20  // and of an answer's
	MaxContent  = 8 << 20  // bytes that write_file writes
	MaxEdited   = 16 << 20 // bytes of a file that edit_file changes, before and after
	MaxRead     = 2 << 20  // bytes that one read_file gives
	usualRead   = 256 << 10
	maxEdits    = 1000
	maxList     = 10000 // entries or paths of one answer
	usualList   = 1000
	usualGlob   = 200
	maxMatches  = 5000 // lines or files of one grep
	usualMatch  = 250
	maxContext  = 50
	maxPattern  = 4 << 10
	maxGlobs    = 64
	maxRoots    = 64
	maxPathSize = 4096
)

// Names of the operations.
const (
	OpRead  = "read_file"
	OpWrite = "write_file"
	OpEdit  = "edit_file"
	OpList  = "list_directory"
	OpGlob  = "glob"
	OpGrep  = "grep"
)

// Encodings of content.
const (
	UTF8   = "utf-8"
	Base64 = "base64"
)

// ReadFile asks for a file, or lines of one. Offset is the number of the first line,
// from 1; Limit how many lines, 0 for all. ByteOffset begins at a byte instead, where
// a line is longer than an answer.
type ReadFile struct {
	Path       Path  `json:"path"`
	Offset     int64 `json:"offset,omitempty"`
	Limit      int64 `json:"limit,omitempty"`
	ByteOffset int64 `json:"byte_offset,omitempty"`
	MaxBytes   int   `json:"max_bytes,omitempty"`
}

// FileContent is the answer. Where it is truncated, NextOffset is the line to go on
// with, 0 where the answer ends within a line, and NextByteOffset the byte.
type FileContent struct {
	Content        string `json:"content"`
	Encoding       string `json:"encoding"`
	Kind           string `json:"kind"` // text, binary, or a media type of what is known: image/png
	Size           int64  `json:"size"`
	Lines          int64  `json:"lines"`           // of the whole file; -1 where it is too large to count
	First          int64  `json:"first,omitempty"` // number of the first line in the answer; 0 with byte_offset
	Truncated      bool   `json:"truncated"`
	NextOffset     int64  `json:"next_offset,omitempty"`
	NextByteOffset int64  `json:"next_byte_offset,omitempty"`
	Mode           string `json:"mode"`   // as chmod(1) takes it
	SHA256         string `json:"sha256"` // of the whole file; "" where it is too large
}

// WriteFile asks for a file to have a content. Expect is the SHA-256 of the content
// that it replaces, or "absent" where there must be none.
type WriteFile struct {
	Path          Path   `json:"path"`
	Content       string `json:"content"`
	Encoding      string `json:"encoding,omitempty"`
	Mode          string `json:"mode,omitempty"`           // "" leaves it; a new file's is as the umask has it
	CreateParents *bool  `json:"create_parents,omitempty"` // nil: yes
	Expect        string `json:"expect,omitempty"`
}

// Absent is what WriteFile expects of a file that must not be there.
const Absent = "absent"

// Written is the answer. Written is false where the file had that content and mode.
type Written struct {
	Written bool   `json:"written"`
	Bytes   int64  `json:"bytes"`
	Created bool   `json:"created"`
	SHA256  string `json:"sha256"`
}

// Edit replaces a text. Without All it has to be there once.
type Edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all,omitempty"`
}

// EditFile asks for replacements in a file, one by its own fields or several in
// Edits, of which each sees what those before it have made. All are made, or none.
type EditFile struct {
	Path Path `json:"path"`
	Edit
	Edits  []Edit `json:"edits,omitempty"`
	Expect string `json:"expect,omitempty"` // SHA-256 of the content that is edited
}

// Edited is the answer. Diff is unified and bounded, for people.
type Edited struct {
	Replacements  int    `json:"replacements"`
	SHA256        string `json:"sha256"`
	Diff          string `json:"diff,omitempty"`
	DiffTruncated bool   `json:"diff_truncated,omitempty"`
}

// ListDirectory asks what is in a directory, without what is below that.
type ListDirectory struct {
	Path   Path `json:"path,omitempty"` // "" is the current one
	Hidden bool `json:"hidden,omitempty"`
	Limit  int  `json:"limit,omitempty"`
	Offset int  `json:"offset,omitempty"`
}

// Listing is the answer, by name. Total counts what is shown with other offsets,
// too; HiddenLeft what begins with a dot and was left out.
type Listing struct {
	Entries    []Entry `json:"entries"`
	Total      int     `json:"total"`
	HiddenLeft int     `json:"hidden_left_out"`
	Truncated  bool    `json:"truncated"`
	NextOffset int     `json:"next_offset,omitempty"`
	Incomplete string  `json:"incomplete,omitempty"` // why not all was looked at
}

// Types of entries.
const (
	TypeFile    = "file"
	TypeDir     = "directory"
	TypeSymlink = "symlink"
	TypeFIFO    = "fifo"
	TypeSocket  = "socket"
	TypeDevice  = "device"
	TypeDenied  = "denied" // there is something that the workspace hides
)

// Entry is one name in a directory.
type Entry struct {
	Name   Path      `json:"name"`
	Type   string    `json:"type"`
	Size   int64     `json:"size"`
	Mode   string    `json:"mode"`
	Time   time.Time `json:"mtime,omitzero"`
	Target Path      `json:"target,omitempty"` // of a symlink
}

// Where is where to look: in Path, or in each of Roots. With both, Path is taken
// relative to each of them. Paths in answers begin with what was given here.
type Where struct {
	Path      Path   `json:"path,omitempty"` // "" is the current directory
	Roots     []Path `json:"roots,omitempty"`
	Hidden    bool   `json:"hidden,omitempty"`    // names that begin with a dot, too
	Gitignore *bool  `json:"gitignore,omitempty"` // nil: what Git ignores is left out
}

// Glob asks for files by a pattern of their path below a root: ** stands for any
// directories, {a,b} for either.
type Glob struct {
	Pattern Path `json:"pattern"`
	Where
	Limit  int `json:"limit,omitempty"`
	Offset int `json:"offset,omitempty"`
}

// Found is the answer, the newest first.
type Found struct {
	Paths      []Path `json:"paths"`
	Total      int    `json:"total"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
	Incomplete string `json:"incomplete,omitempty"`
}

// Output modes of grep.
const (
	ModeFiles   = "files_with_matches"
	ModeContent = "content"
	ModeCount   = "count"
)

// Grep asks for lines that a regular expression (RE2) matches.
type Grep struct {
	Pattern string `json:"pattern"`
	Where
	Include         []Path `json:"include,omitempty"` // globs; one without a slash is of the name alone
	Exclude         []Path `json:"exclude,omitempty"`
	OutputMode      string `json:"output_mode,omitempty"` // "" is files_with_matches
	Context         int    `json:"context,omitempty"`     // lines around a match
	Before          int    `json:"before,omitempty"`
	After           int    `json:"after,omitempty"`
	CaseInsensitive bool   `json:"case_insensitive,omitempty"`
	Multiline       bool   `json:"multiline,omitempty"` // a match may go over lines, and . is any of their characters
	Limit           int    `json:"limit,omitempty"`     // of files, or in content mode of matching lines
}

// Matches is the answer, by path. Truncated says that the limit was reached and not
// all was looked at. Files with a zero byte are no text, and are left out.
type Matches struct {
	Files      []FileMatches `json:"files"`
	Matches    int           `json:"matches"` // matching lines in the answer; 0 with files_with_matches
	Truncated  bool          `json:"truncated"`
	TooLarge   int           `json:"too_large"` // files that are too large to match over lines
	Incomplete string        `json:"incomplete,omitempty"`
}

// FileMatches is what was found in one file.
type FileMatches struct {
	Path  Path   `json:"path"`
	Count int    `json:"count,omitempty"` // matching lines; not with files_with_matches
	Lines []Line `json:"lines,omitempty"` // content
}

// Line is one line of content, without its end. Bytes that are not UTF-8 are shown
// as U+FFFD. Cut says that a long line is shown in part.
type Line struct {
	Number int64  `json:"line"`
	Text   string `json:"text"`
	Match  bool   `json:"match"`
	Cut    bool   `json:"cut,omitempty"`
}
