package cli

import (
	"fmt"
	"io"

	"carrel/internal/api"
)

// text is a string of any bytes in JSON.
type text = api.Text

// maxInput bounds what is read of standard input, in bytes.
const maxInput = 1 << 20

func readAllBounded(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("standard input has more than %d bytes", maxInput)
	}
	return string(b), err
}
