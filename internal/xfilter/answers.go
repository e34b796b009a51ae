package xfilter

import (
	"errors"
	"sync"
	"sync/atomic"
)

// maxAnswers bounds the answers that are awaited and will be changed. A client
// that has more of them under way sends nothing but what is refused, and does
// not read.
const maxAnswers = 1 << 15

var errAnswers = errors.New("more refused requests than answers were read for")

// answer is one to come that will be changed.
type answer struct {
	seq          uint16
	major, minor byte // of the request as the client knows it
	quiet        bool // a reply to be blank; else an error to be BadAccess
	list         bool // a reply to ListExtensions
}

// answers are awaited in the order of their requests.
type answers struct {
	waiting atomic.Int32
	mu      sync.Mutex
	list    []answer
}

func (a *answers) expect(n answer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) >= maxAnswers {
		return errAnswers
	}
	a.list = append(a.list, n)
	a.waiting.Store(int32(len(a.list)))
	return nil
}

// take gives the entry for an error or a reply with this number.
func (a *answers) take(seq uint16) (answer, bool) {
	if a.waiting.Load() == 0 {
		return answer{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.waiting.Store(int32(len(a.list))) }()
	for len(a.list) > 0 {
		first := a.list[0]
		if first.seq != seq && int16(first.seq-seq) > 0 {
			return answer{}, false // of a later request
		}
		a.list = a.list[1:]
		if len(a.list) == 0 {
			a.list = nil // gives the memory back
		}
		if first.seq == seq {
			return first, true
		}
	}
	return answer{}, false
}
