package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Kind is the type of a file system object.
type Kind uint8

const (
	Absent Kind = iota // there is nothing
	File
	Dir
	Symlink
	FIFO
	Socket
	Other // a device: never made or opened by us
)

var kindNames = [...]string{"nothing", "file", "directory", "symlink", "fifo", "socket", "device"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Bytes is a path or another text of any bytes. It is never changed, so what is
// made of one record shares it.
type Bytes = cbor.ByteString

// ID names an inode for as long as it exists: a number that is used again has
// another time of birth.
type ID struct {
	Dev   uint64 `cbor:"1,keyasint,omitempty"`
	Ino   uint64 `cbor:"2,keyasint,omitempty"`
	Birth int64  `cbor:"3,keyasint,omitempty"` // nanoseconds since 1970, 0 where the file system has none
}

// State is what there is at a path. Times are nanoseconds since 1970.
type State struct {
	Kind   Kind              `cbor:"1,keyasint,omitempty"`
	Mode   uint32            `cbor:"2,keyasint,omitempty"` // the lower twelve bits
	UID    uint32            `cbor:"3,keyasint,omitempty"`
	GID    uint32            `cbor:"4,keyasint,omitempty"`
	Size   int64             `cbor:"5,keyasint,omitempty"` // of files, in bytes; see UnknownSize
	Mtime  int64             `cbor:"6,keyasint,omitempty"`
	Ctime  int64             `cbor:"7,keyasint,omitempty"`
	Links  uint32            `cbor:"8,keyasint,omitempty"`
	ID     ID                `cbor:"9,keyasint,omitempty"`
	Target Bytes             `cbor:"10,keyasint,omitempty"` // of symlinks
	Xattrs map[string][]byte `cbor:"11,keyasint,omitempty"` // user.* and access control lists
	Sum    Bytes             `cbor:"12,keyasint,omitempty"` // SHA-256 of what a step left in a small file
	// Unread: it has user.* attributes that the mode keeps from being read. Xattrs has
	// only access control lists then; the others are not known.
	Unread bool `cbor:"13,keyasint,omitempty"`
}

// UnknownSize is the Size of a file that a step left, where another program replaced it
// before its content was looked at.
const UnknownSize = -1

// Object names a stored preimage: its segment's directory and number. The zero
// Object is none.
type Object struct {
	Segment string `cbor:"1,keyasint,omitempty"`
	Number  uint64 `cbor:"2,keyasint,omitempty"`
}

// Pre is a path as a step found it.
type Pre struct {
	Path   Bytes  `cbor:"1,keyasint"` // its origin
	State  State  `cbor:"2,keyasint"`
	Object Object `cbor:"3,keyasint,omitempty"` // the content of a file
	// Inode is the file itself, where it had other names when it lost this one.
	// Its content may have changed by those; then Object has it as it was.
	Inode Object `cbor:"5,keyasint,omitempty"`
	// Becomes is, of an undo, what this will be called afterwards.
	Becomes Bytes  `cbor:"7,keyasint,omitempty"`
	Stayed  bool   `cbor:"6,keyasint,omitempty"` // it did not go after all: Object is none
	Lost    string `cbor:"4,keyasint,omitempty"` // why the content is not kept, though it may change
	// Within is, of an undo, what was in the file that it brings back here, which
	// has other names: those hold that again once it is taken back.
	Within *Within `cbor:"8,keyasint,omitempty"`
	// Was is the inode that the file had by the records before: another program had
	// saved it once more, with the content that it had.
	Was ID `cbor:"10,keyasint,omitempty"`
	// Void withdraws what was written down of the path: only calls that failed touched it.
	Void bool `cbor:"9,keyasint,omitempty"`
}

// Within is a file that has names which no step has met.
type Within struct {
	State  State  `cbor:"1,keyasint"`
	Object Object `cbor:"2,keyasint,omitempty"` // its content, if that was replaced
}

// Post is a path as a step left it.
type Post struct {
	Path   Bytes `cbor:"1,keyasint"`
	State  State `cbor:"2,keyasint"`
	Origin Bytes `cbor:"3,keyasint,omitempty"` // of what is there, empty if the step made it
	// Uncertain: the writer was killed, and this was looked at later.
	Uncertain bool `cbor:"4,keyasint,omitempty"`
	// As says, of an undo, what this is: something that a step had found.
	As *As `cbor:"5,keyasint,omitempty"`
	// Planned: the undo is about to make this; State is not known yet.
	Planned bool `cbor:"6,keyasint,omitempty"`
	// From is, of an undo, the link in the store that became this name.
	From Object `cbor:"7,keyasint,omitempty"`
	// Late: the step wrote to this file, and when it was done with that could not be
	// seen. What was there at the end of the step counts as the step's.
	Late bool `cbor:"8,keyasint,omitempty"`
	// Unwritten: no call wrote to this file, so that it holds what the step found, though
	// that may be lost or its time of change another one.
	Unwritten bool `cbor:"9,keyasint,omitempty"`
	// Timed: a call set the times of this directory, which also change with the names in it.
	Timed bool `cbor:"10,keyasint,omitempty"`
}

// As names what a step found at a path. It may be another inode now.
type As struct {
	Step    uint64 `cbor:"1,keyasint"`
	Path    Bytes  `cbor:"2,keyasint"`
	Content bool   `cbor:"3,keyasint,omitempty"` // also its content is as the step found it
}

// Beyond is what a step left in a file that has no name any more that the step knows.
type Beyond struct {
	Path  Bytes `cbor:"1,keyasint"`           // at which the step found the file
	State State `cbor:"2,keyasint,omitempty"` // Absent where an undo has only planned it
	As    *As   `cbor:"3,keyasint,omitempty"` // of an undo, see Post
	// Link is, of an undo, the link in the store by which the file is looked at.
	Link Object `cbor:"4,keyasint,omitempty"`
}

// Begin opens a step.
type Begin struct {
	Kind    string   `cbor:"1,keyasint"`
	Run     string   `cbor:"2,keyasint,omitempty"`
	Command []Bytes  `cbor:"3,keyasint,omitempty"`
	Label   string   `cbor:"4,keyasint,omitempty"`
	Time    int64    `cbor:"5,keyasint"`           // for people; order is by stamps
	Of      []uint64 `cbor:"6,keyasint,omitempty"` // of an undo: the step that it takes back
	Partly  bool     `cbor:"8,keyasint,omitempty"` // of an undo: not the whole step
	Roots   []Bytes  `cbor:"7,keyasint,omitempty"`
	Devices []uint64 `cbor:"12,keyasint,omitempty"` // of the roots, as the kernel numbered them then
	// Of an undo of several steps: what is to be done after this one, and how.
	Rest  []uint64 `cbor:"9,keyasint,omitempty"`
	Mode  Mode     `cbor:"10,keyasint,omitempty"`
	Paths []Bytes  `cbor:"11,keyasint,omitempty"`
	// Open says that no name was protected from the step, nor is it from its undo.
	Open bool `cbor:"13,keyasint,omitempty"`
}

// Kinds of steps.
const (
	StepRun  = "run"
	StepJob  = "job" // of what was started in a step of a run and outlived that
	StepUndo = "undo"
	StepRedo = "redo"
)

// End closes a step.
type End struct {
	Time        int64 `cbor:"1,keyasint"`
	Exit        int   `cbor:"2,keyasint,omitempty"`
	Interrupted bool  `cbor:"3,keyasint,omitempty"` // closed later, by somebody else
	Aborted     bool  `cbor:"4,keyasint,omitempty"` // of an undo: nothing of it is left
	Again       bool  `cbor:"5,keyasint,omitempty"` // no end after all: of an undo that is being taken back
	Alone       bool  `cbor:"7,keyasint,omitempty"` // of an undo: what it had to do after this one is not done any more
	// Left are paths that an interrupted undo did not touch when it was finished:
	// somebody had changed them meanwhile.
	Left []Bytes `cbor:"6,keyasint,omitempty"`
}

// Move is a rename that is about to be made, or one that was not made after all.
type Move struct {
	From     Bytes `cbor:"1,keyasint"`
	To       Bytes `cbor:"2,keyasint"`
	Exchange bool  `cbor:"3,keyasint,omitempty"`
	Failed   bool  `cbor:"4,keyasint,omitempty"`
	ID       ID    `cbor:"5,keyasint,omitempty"` // of what is at From
}

// Record is one entry of a journal: one of the pointers is set.
type Record struct {
	Stamp uint64  `cbor:"1,keyasint"`
	Step  uint64  `cbor:"2,keyasint"`
	Time  int64   `cbor:"11,keyasint,omitempty"` // nanoseconds since 1970: until when the writer lived at least
	Begin *Begin  `cbor:"3,keyasint,omitempty"`
	Pre   *Pre    `cbor:"4,keyasint,omitempty"`
	Post  *Post   `cbor:"5,keyasint,omitempty"`
	End   *End    `cbor:"6,keyasint,omitempty"`
	Do    *Action `cbor:"7,keyasint,omitempty"`  // of an undo: a part of its plan
	Ready int     `cbor:"10,keyasint,omitempty"` // the plan is whole: that many actions
	At    Bytes   `cbor:"8,keyasint,omitempty"`  // a path that is about to be made or changed, as it is called now
	Move  *Move   `cbor:"9,keyasint,omitempty"`

	// Safe is how many bytes of the journal were on the disk before, where that is
	// more than it was the last time.
	Safe int64 `cbor:"13,keyasint,omitempty"`

	Beyond *Beyond `cbor:"16,keyasint,omitempty"`

	// Between is what another program wrote to a file of the step, and the step then
	// destroyed. It is no preimage: the step had not found it.
	Between *Pre `cbor:"15,keyasint,omitempty"`

	Discard *Discard `cbor:"12,keyasint,omitempty"` // in no journal, but in the file of what is discarded
	Head    *head    `cbor:"14,keyasint,omitempty"` // in no journal, but in the file of what is in them
}

// Discard says of a segment which steps are gone, or that nothing of it counts.
type Discard struct {
	Segment string   `cbor:"1,keyasint,omitempty"`
	Steps   []uint64 `cbor:"2,keyasint,omitempty"`
	Whole   bool     `cbor:"3,keyasint,omitempty"`
}

// head is what is known of a step without reading what it changed, with its Begin and End in the same record.
type head struct {
	Segment string `cbor:"1,keyasint"`
	Size    int64  `cbor:"2,keyasint"`  // of the segment, in bytes
	Mtime   int64  `cbor:"3,keyasint"`  // of the segment
	Inode   uint64 `cbor:"4,keyasint"`  // of the segment
	Steps   int    `cbor:"5,keyasint"`  // that the segment has
	Stamp   uint64 `cbor:"6,keyasint"`  // the last of the segment
	Number  uint64 `cbor:"7,keyasint"`  // the highest of the segment
	Begun   uint64 `cbor:"8,keyasint"`  // the stamp of the step's beginning
	Last    uint64 `cbor:"9,keyasint"`  // the stamp of its last change
	From    int64  `cbor:"10,keyasint"` // where its records begin
	To      int64  `cbor:"11,keyasint"` // and end
	Counts  Counts `cbor:"12,keyasint"`
}

// Bounds of one record, whoever wrote it.
const (
	maxRecord = 512 << 10 // bytes
	// MaxNumber bounds stamps and the numbers of steps: none ever comes near, so
	// one that is above it is damage, and one more cannot begin again at 0.
	MaxNumber = 1 << 53
)

// decoder takes what our own encoder writes and little else.
var decoder = sync.OnceValues(func() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxNestedLevels: 8, MaxArrayElements: 1 << 17, MaxMapPairs: 1 << 12, UTF8: cbor.UTF8DecodeInvalid,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden, DupMapKey: cbor.DupMapKeyEnforcedAPF,
	}.DecMode()
})

// ErrTooLarge is why a record is not written that could not be read again.
var ErrTooLarge = errors.New("the record is too large")

// Encode appends a record in its frame.
func Encode(to []byte, r *Record) ([]byte, error) {
	from := len(to)
	to = append(to, make([]byte, FrameBytes)...)
	if r.plain() {
		to = appendRecord(to, r)
	} else {
		body, err := byLibrary(r)
		if err != nil {
			return nil, fmt.Errorf("writing a record: %w", err)
		}
		to = append(to, body...)
	}
	body := to[from+FrameBytes:]
	if len(body) > maxRecord {
		return nil, ErrTooLarge
	}
	putLE32(to[from:], uint32(len(body)))
	putLE32(to[from+4:], crc32.Checksum(body, castagnoli()))
	return to, nil
}

func byLibrary(r *Record) ([]byte, error) { return cbor.Marshal(r) }

// Decode reads the first record of data and says how many bytes it took; 0 where
// what follows is no whole record: the end, or what a crash left of it.
func Decode(data []byte) (*Record, int) {
	body := Frame(data, maxRecord)
	if body == nil {
		return nil, 0
	}
	var r Record
	mode, err := decoder()
	if err != nil || mode.Unmarshal(body, &r) != nil {
		return nil, 0
	}
	return &r, FrameBytes + len(body)
}

var errRecord = errors.New("a record of the journal has a path or a number that none can have")

// Valid says whether a record is one that we write. What it names is resolved
// beneath roots all the same; but who asks about a path must be asked about the
// one that is used.
func (r *Record) Valid() error {
	if r.Step == 0 || r.Step > MaxNumber || r.Stamp > MaxNumber {
		return errRecord
	}
	var paths []Bytes
	switch {
	case r.Begin != nil:
		paths = r.Begin.Roots
	case r.Pre != nil:
		paths = []Bytes{r.Pre.Path, or(r.Pre.Becomes)}
	case r.Between != nil:
		paths = []Bytes{r.Between.Path}
	case r.Post != nil:
		paths = []Bytes{r.Post.Path, or(r.Post.Origin)}
		if r.Post.As != nil {
			paths = append(paths, r.Post.As.Path)
		}
	case r.Beyond != nil:
		paths = []Bytes{r.Beyond.Path}
		if r.Beyond.As != nil {
			paths = append(paths, r.Beyond.As.Path)
		}
	case r.Do != nil:
		paths = []Bytes{or(r.Do.Path)}
	case r.Move != nil:
		paths = []Bytes{r.Move.From, r.Move.To}
	}
	for _, p := range append(paths, or(r.At)) {
		if !cleanPath(p) {
			return errRecord
		}
	}
	if r.Do != nil && !r.Do.valid() {
		return errRecord
	}
	return nil
}

// or gives a path that may be missing a value that is valid.
func or(path Bytes) Bytes {
	if len(path) == 0 {
		return "/"
	}
	return path
}

// Counts are how many paths a step changed, in the end, and how.
type Counts struct {
	Added    int   `cbor:"1,keyasint,omitempty"`
	Modified int   `cbor:"2,keyasint,omitempty"`
	Removed  int   `cbor:"3,keyasint,omitempty"`
	Renamed  int   `cbor:"4,keyasint,omitempty"`
	Lost     int   `cbor:"5,keyasint,omitempty"` // with a former content that is not kept
	Kept     int64 `cbor:"6,keyasint,omitempty"` // bytes of former content, as far as the step knows
	Edited   int   `cbor:"7,keyasint,omitempty"` // what other programs wrote and the step destroyed
}

// IDs are the inodes that a record names.
func (r *Record) IDs() (out []*ID) {
	switch {
	case r.Pre != nil:
		out = append(out, &r.Pre.State.ID)
		if r.Pre.Was != (ID{}) {
			out = append(out, &r.Pre.Was)
		}
		if r.Pre.Within != nil {
			out = append(out, &r.Pre.Within.State.ID)
		}
	case r.Between != nil:
		out = append(out, &r.Between.State.ID)
	case r.Post != nil:
		out = append(out, &r.Post.State.ID)
	case r.Beyond != nil:
		out = append(out, &r.Beyond.State.ID)
	case r.Do != nil:
		out = append(out, &r.Do.State.ID)
	case r.Move != nil:
		out = append(out, &r.Move.ID)
	}
	return out
}
