package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// maxLogLine bounds one line of a log; longer ones are skipped, as are lines
// that a crash cut short.
const maxLogLine = 64 << 10

// ReadLog gives the records of a JSON Lines log that keep accepts, in order.
// A line that is not JSON is counted, not fatal: the last line of a crashed
// process may be incomplete.
func ReadLog[T any](r io.Reader, keep func(*T) bool) (records []T, broken int, err error) {
	in := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			broken++
			for err == bufio.ErrBufferFull {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		if len(line) > 0 {
			var v T
			switch {
			case json.Unmarshal(line, &v) != nil:
				broken++
			case keep == nil || keep(&v):
				records = append(records, v)
			}
		}
		if err == io.EOF {
			return records, broken, nil
		}
		if err != nil {
			return records, broken, fmt.Errorf("reading the log: %w", err)
		}
	}
}
