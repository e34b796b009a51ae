package ceilings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"carrel/internal/config"
	"carrel/internal/memfile"
	"carrel/internal/strictjson"

	"golang.org/x/sys/unix"
)

// Bounds on ceilings that are handed on.
const (
	maxCeilings     = 16
	maxSealed       = 8 << 20 // bytes
	sealedVersion   = 1
	firstDescriptor = 3
)

// sealedCeilings is what is in the memory file.
type sealedCeilings struct {
	Version  int                  `json:"version"`
	Ceilings []config.CeilingText `json:"ceilings"`
}

// Seal puts ceilings into a sealed file in memory, which can be handed to another
// carrel as a descriptor that config.VarCeilingFD names. It cannot be changed any more.
func Seal(list []config.CeilingText) (*os.File, error) {
	if list == nil {
		list = []config.CeilingText{}
	}
	text, err := json.Marshal(sealedCeilings{sealedVersion, list})
	if err != nil {
		return nil, fmt.Errorf("writing the ceilings down: %w", err)
	}
	if len(list) > maxCeilings || len(text) > maxSealed {
		return nil, fmt.Errorf("%d ceilings of %d bytes are more than %d of %d", len(list), len(text), maxCeilings, maxSealed)
	}
	f, err := memfile.Sealed("ceiling", text)
	if err != nil {
		return nil, fmt.Errorf("sealing the ceilings: %w", err)
	}
	return f, nil
}

// Handed gives the ceilings that the starter of this process has handed on, nil where it
// has not. The descriptor is closed: nothing that is started here has it.
func Handed(getenv func(string) string) ([]config.CeilingText, error) {
	word := getenv(config.VarCeilingFD)
	if word == "" {
		return nil, nil
	}
	list, err := openSealed(word)
	if err != nil {
		return nil, fmt.Errorf("%s=%.40q: %w", config.VarCeilingFD, word, err)
	}
	return list, nil
}

func openSealed(word string) ([]config.CeilingText, error) {
	fd, err := strconv.Atoi(word)
	if err != nil || fd < firstDescriptor || word != strconv.Itoa(fd) {
		return nil, fmt.Errorf("want the number of a descriptor, %d or more", firstDescriptor)
	}
	switch is, err := memfile.IsSealed(fd); {
	case err != nil:
		return nil, errors.New("there is no such descriptor")
	case !is:
		return nil, errors.New("the descriptor is no sealed file in memory, so that its content could change")
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "ceiling")
	defer f.Close()
	text, err := memfile.Read(f, maxSealed)
	if err != nil {
		return nil, fmt.Errorf("its content: %w", err)
	}
	var s sealedCeilings
	if err := strictjson.Decode(text, &s); err != nil {
		return nil, errors.Join(errors.New("it holds no ceilings"), err)
	}
	if s.Version != sealedVersion || s.Ceilings == nil || len(s.Ceilings) > maxCeilings {
		return nil, fmt.Errorf("it holds %d ceilings in form %d: want at most %d in form %d; is the program that wrote it another version?", len(s.Ceilings), s.Version, maxCeilings, sealedVersion)
	}
	return s.Ceilings, nil
}

// HandOn is an environment that names the descriptor of sealed ceilings.
func HandOn(environ []string, fd int) []string {
	out := make([]string, 0, len(environ)+1)
	for _, v := range environ {
		if !strings.HasPrefix(v, config.VarCeilingFD+"=") {
			out = append(out, v)
		}
	}
	return append(out, config.VarCeilingFD+"="+strconv.Itoa(fd))
}
