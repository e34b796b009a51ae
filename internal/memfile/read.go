package memfile

import (
	"fmt"
	"io"
	"os"
)

// Read gives the content of a file that somebody else may have made, wherever they have
// read it to. It has to be a regular one of at most so many bytes: of anything else a read
// could wait.
func Read(f *os.File, most int64) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("no regular file of at most %d bytes", most)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return data, err
}
