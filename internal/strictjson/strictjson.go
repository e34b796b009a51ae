// Package strictjson decodes JSON and refuses names that are unknown or given twice, bad text
// and anything that follows: its writer must not believe that it was obeyed where it was not.
// Package encoding/json is lenient: it takes the last of two values of one name, and puts U+FFFD
// where there is no text. It skips names that it does not know, and lets more follow. Here each
// of these is an error. [Decode] decodes nothing that has not passed [Check] as a whole.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deeply lists and objects are nested.
const MaxDepth = 64

// Decode reads one value and nothing after it. into is a pointer, as for [json.Unmarshal];
// a name that its type does not have is an error.
func Decode(data []byte, into any) error {
	if err := Check(data); err != nil {
		return err
	}
	return Single(data, into)
}

// Single is Decode without [Check], for long lines of a stream, whose bytes it reads once: a
// name that stands twice has its last value.
func Single(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return trimmed(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("it is more than one value")
	}
	return nil
}

// Check reports whether data is one JSON value in UTF-8, of which no object has a name twice,
// and that is nested [MaxDepth] deep at most.
func Check(data []byte) error {
	_, err := check(data)
	return err
}

// LowerNames is [Check] for one object that also wants all its names, and those of objects in
// it, to be of small letters and "_": encoding/json takes a name in any case for one it knows.
func LowerNames(data []byte) error {
	names, err := check(data)
	if err != nil {
		return err
	}
	if b := bytes.TrimLeft(data, " \t\r\n"); b[0] != '{' {
		return errors.New("it is no object")
	}
	for name := range names {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return fmt.Errorf("the name %.40q is not in small letters", name)
		}
	}
	return nil
}

// level is a list or an object that has not ended.
type level struct {
	names map[string]bool // nil in a list
	value bool            // what comes next is one, and no name
}

// check is Check. It gives all names that objects have.
func check(data []byte) (names map[string]bool, err error) {
	switch {
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	case halfSurrogate(data):
		return nil, errors.New(`it has half a surrogate pair (\ud800 to \udfff), which is no text`)
	}
	names = make(map[string]bool)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []level
	for first := true; ; first = false {
		token, err := d.Token()
		switch {
		case err == io.EOF && len(open) > 0, err == io.EOF && first:
			return nil, io.ErrUnexpectedEOF
		case err == io.EOF:
			return names, nil
		case err != nil:
			return nil, trimmed(err)
		case !first && len(open) == 0:
			return nil, errors.New("it is more than one value")
		}
		if n := len(open); n > 0 && open[n-1].names != nil && !open[n-1].value {
			if name, ok := token.(string); ok {
				if open[n-1].names[name] {
					return nil, fmt.Errorf("the name %.40q stands twice", name)
				}
				names[name], open[n-1].names[name], open[n-1].value = true, true, true
				continue
			}
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if len(open) == MaxDepth {
				return nil, fmt.Errorf("it is nested more than %d deep", MaxDepth)
			}
			l := level{}
			if token == json.Delim('{') {
				l.names = make(map[string]bool)
			}
			open = append(open, l)
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 {
			open[n-1].value = false
		}
	}
}

// trimmed leaves the name of the library out of what it says.
func trimmed(err error) error {
	var wrong *json.UnmarshalTypeError
	if text, is := strings.CutPrefix(err.Error(), "json: "); is && !errors.As(err, &wrong) {
		return errors.New(text)
	}
	return err
}

// halfSurrogate reports whether an escape in valid or invalid JSON is one.
func halfSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escaped(data[i:])
		switch {
		case !ok:
			i++ // some other escape
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			if low, ok := escaped(data[i+6:]); !ok || low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// escaped reads \uXXXX at the beginning of data.
func escaped(data []byte) (unit uint16, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	for _, c := range data[2:6] {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | uint16(digit)
	}
	return unit, true
}
