package journal

// Records of changes are written for every call that changes something, so that
// they are put into CBOR here; all others are the library's. A test holds both to
// the same bytes.

// plain says whether appendRecord knows all of a record.
func (r *Record) plain() bool {
	switch {
	case r.Begin != nil, r.Post != nil, r.End != nil, r.Do != nil, r.Ready != 0, r.Discard != nil, r.Head != nil, r.Beyond != nil, r.Between != nil:
		return false
	case r.Pre != nil && (r.Pre.Within != nil || r.Pre.Was != (ID{}) || len(r.Pre.State.Xattrs) > 0):
		return false
	}
	return true
}

// Major types of CBOR (RFC 8949, section 3.1), as they stand in the first byte.
const (
	cborUint  = 0 << 5
	cborNeg   = 1 << 5
	cborBytes = 2 << 5
	cborText  = 3 << 5
	cborMap   = 5 << 5
	cborTrue  = 0xf5
)

// cborHead appends the beginning of an item: its type, and its value or length.
func cborHead(to []byte, kind byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(to, kind|byte(n))
	case n < 1<<8:
		return append(to, kind|24, byte(n))
	case n < 1<<16:
		return append(to, kind|25, byte(n>>8), byte(n))
	case n < 1<<32:
		return append(to, kind|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(to, kind|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// cborFields is a map that is being written. Its length stands before it and is
// known later; there are less than 24 fields.
type cborFields struct {
	to []byte
	at int
}

func cborBegin(to []byte) cborFields { return cborFields{append(to, cborMap), len(to)} }

func (f *cborFields) key(k byte) {
	f.to[f.at]++
	f.to = append(f.to, k)
}

func (f *cborFields) uint(k byte, n uint64) {
	if n != 0 {
		f.key(k)
		f.to = cborHead(f.to, cborUint, n)
	}
}

func (f *cborFields) int(k byte, n int64) {
	if n < 0 {
		f.key(k)
		f.to = cborHead(f.to, cborNeg, uint64(-1-n))
		return
	}
	f.uint(k, uint64(n))
}

// text appends bytes or a text that is not empty.
func (f *cborFields) text(k, kind byte, s string) {
	if s != "" {
		f.key(k)
		f.to = append(cborHead(f.to, kind, uint64(len(s))), s...)
	}
}

func (f *cborFields) flag(k byte, is bool) {
	if is {
		f.key(k)
		f.to = append(f.to, cborTrue)
	}
}

func (f *cborFields) id(k byte, id ID) {
	if id == (ID{}) {
		return
	}
	f.key(k)
	in := cborBegin(f.to)
	in.uint(1, id.Dev)
	in.uint(2, id.Ino)
	in.int(3, id.Birth)
	f.to = in.to
}

func (f *cborFields) object(k byte, o Object) {
	if o == (Object{}) {
		return
	}
	f.key(k)
	in := cborBegin(f.to)
	in.text(1, cborText, o.Segment)
	in.uint(2, o.Number)
	f.to = in.to
}

func (f *cborFields) state(k byte, s *State) {
	f.key(k)
	in := cborBegin(f.to)
	in.uint(1, uint64(s.Kind))
	in.uint(2, uint64(s.Mode))
	in.uint(3, uint64(s.UID))
	in.uint(4, uint64(s.GID))
	in.int(5, s.Size)
	in.int(6, s.Mtime)
	in.int(7, s.Ctime)
	in.uint(8, uint64(s.Links))
	in.id(9, s.ID)
	in.text(10, cborBytes, string(s.Target))
	in.text(12, cborBytes, string(s.Sum))
	in.flag(13, s.Unread)
	f.to = in.to
}

// must is text that is there though it is empty.
func (f *cborFields) must(k byte, s Bytes) {
	f.key(k)
	f.to = append(cborHead(f.to, cborBytes, uint64(len(s))), s...)
}

// appendRecord appends a plain record.
func appendRecord(to []byte, r *Record) []byte {
	f := cborBegin(to)
	f.key(1)
	f.to = cborHead(f.to, cborUint, r.Stamp)
	f.key(2)
	f.to = cborHead(f.to, cborUint, r.Step)
	f.int(11, r.Time)
	if p := r.Pre; p != nil {
		f.key(4)
		in := cborBegin(f.to)
		in.must(1, p.Path)
		in.state(2, &p.State)
		in.object(3, p.Object)
		in.object(5, p.Inode)
		in.text(7, cborBytes, string(p.Becomes))
		in.flag(6, p.Stayed)
		in.text(4, cborText, p.Lost)
		in.flag(9, p.Void)
		f.to = in.to
	}
	f.text(8, cborBytes, string(r.At))
	if m := r.Move; m != nil {
		f.key(9)
		in := cborBegin(f.to)
		in.must(1, m.From)
		in.must(2, m.To)
		in.flag(3, m.Exchange)
		in.flag(4, m.Failed)
		in.id(5, m.ID)
		f.to = in.to
	}
	f.int(13, r.Safe)
	return f.to
}
