package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// update writes what is known of the wire format anew: go test ./internal/api -update.
var update = flag.Bool("update", false, "write testdata anew")

// told are the values that programs get as JSON, or that are written down and read by later
// versions; what is in them belongs to them.
var told = []any{
	Denial{}, Link{}, Result{}, AuditRecord{}, AuditResult{}, Control{}, ProjectPause{}, Command{}, App{}, Output{}, Screen{}, Input{},
	Desk{}, Request{}, Reply{}, WorkspaceStatus{}, Approval{}, Terms{}, Event{}, Connection{}, Published{}, LeftOut{}, Manifest{},
}

// walk visits the structs of a type, each once.
func walk(of reflect.Type, seen map[reflect.Type]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walk(of.Elem(), seen)
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			walk(of.Field(i).Type, seen)
		}
	}
}

// structs are all types that stand in what is told.
func structs() map[reflect.Type]bool {
	seen := map[reflect.Type]bool{}
	for _, v := range told {
		walk(reflect.TypeOf(v), seen)
	}
	return seen
}

// TestWireFormat: the names, types and options of all fields are those of testdata/wire.txt. A
// name that is changed or gone breaks programs that read it and logs that have it, so the file
// is changed on purpose alone.
func TestWireFormat(t *testing.T) {
	var lines []string
	for of := range structs() {
		for i := range of.NumField() {
			f := of.Field(i)
			if tag := f.Tag.Get("json"); tag != "-" {
				lines = append(lines, fmt.Sprintf("%s: %s %s", of.Name(), tag, strings.ReplaceAll(f.Type.String(), "api.", "")))
			}
		}
	}
	slices.Sort(lines)
	got := []byte(strings.Join(lines, "\n") + "\n")
	if *update {
		if err := os.WriteFile("testdata/wire.txt", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/wire.txt"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the wire format is not what is written down (%v); look, and write it with -update:\n%s", err, got)
	}
}

// TestWireNames: a name is in small letters, stands once in an object, and is Go's own where
// an object is a part of another.
func TestWireNames(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	for of := range structs() {
		names := map[string]bool{}
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "" || name == "-":
			case !form.MatchString(name):
				t.Errorf("%s.%s is %q in JSON", of, f.Name, name)
			case names[name]:
				t.Errorf("%s has two fields %q", of, name)
			}
			names[name] = true
		}
	}
}

// fill gives each field a value that is not zero, a few levels deep.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2024, 5, 6, 7, 8, 9, 10, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
		} else if depth > 0 || v.Type().Elem().Kind() == reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				fill(v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth-1)
		}
	case reflect.String:
		v.SetString("<text>\n\u00e4")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(8)
	case reflect.Float64:
		v.SetFloat(2.5)
	}
}

// TestValuesComeBack: a value that is written and read is the same, and one with nothing in it
// is, too; an unknown name of a later version is no error to an earlier one.
func TestValuesComeBack(t *testing.T) {
	for _, zero := range told {
		full := reflect.New(reflect.TypeOf(zero))
		fill(full.Elem(), 3)
		for _, v := range []any{zero, full.Elem().Interface()} {
			text, err := json.Marshal(v)
			if err != nil {
				t.Errorf("%T: %v", v, err)
				continue
			}
			again := reflect.New(reflect.TypeOf(v))
			later := append(text[:len(text)-1:len(text)-1], []byte(`,"of_a_later_version":[{}]}`)...)
			later = bytes.Replace(later, []byte("{,"), []byte("{"), 1)
			for _, in := range [][]byte{text, later} {
				if err := json.Unmarshal(in, again.Interface()); err != nil || !reflect.DeepEqual(again.Elem().Interface(), v) {
					t.Errorf("%T: %s\ncomes back as %+v, %v", v, in, again.Elem(), err)
				}
			}
		}
	}
}

// TestDenialsAsErrors: the text has the hint on a line of its own, and none without one.
func TestDenialsAsErrors(t *testing.T) {
	d := Refused(CodeBusy, OpPause, "dev", "too much at once", "")
	if d.Error() != "too much at once" || d.Rule != "workspace" || d.Source != "built in" || d.Operation != OpPause || d.Subject != "dev" {
		t.Errorf("%+v", d)
	}
	if d.Hint = "wait"; d.Error() != "too much at once\nhint: wait" {
		t.Errorf("%q", d.Error())
	}
}
