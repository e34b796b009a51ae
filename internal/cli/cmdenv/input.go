package cmdenv

import (
	"fmt"
	"io"
)

// maxInput bounds what is read of standard input, in bytes.
const maxInput = 1 << 20

// ReadText reads a text that is given on standard input.
func ReadText(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("standard input has more than %d bytes", maxInput)
	}
	return string(b), err
}
