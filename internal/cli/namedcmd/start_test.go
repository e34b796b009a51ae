package namedcmd

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/config"
	"carrel/internal/op/startop"
)

// TestWishWords: what a program asks for is decided by the server, and again by the supervisor,
// which reads it as words of carrel start. Both mean the same.
func TestWishWords(t *testing.T) {
	for _, w := range []startop.Wish{
		{Name: "shop"},
		{Name: "shop", Profile: "dev", Purpose: "--the search\npage", Agent: "claude", NoPrompts: true, Owner: 42, Passing: true},
		{Name: "shop", Network: "filtered", Display: "virtual", Backend: "process", Isolation: "process", Size: "800x600",
			Hosts: []string{"a.example", "*.b.example"}},
		{Name: "shop", Backend: "vm", VM: machineOf(t, "accel=tcg", "memory-mb=512", "cpus=1", "qemu-binary=/q", "kernel-path=/k",
			"initrd-path=/i")},
		{Name: "shop", Read: []string{"/a", "relative dir", "/c=d"}, Write: []string{"/-e", "/\xff"}},
	} {
		env := &cmdenv.Env{Environ: []string{"HOME=" + t.TempDir()}, Args: w.Words()}
		caller := env.Caller()
		caller.Ceilings = func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil }
		want, err := w.Request(caller)
		if err != nil {
			t.Fatal(err)
		}
		want.Detach = false // a command ends
		f := &startFlags{}
		cmd := f.command(env)
		if err := cmd.ParseFlags(w.Words()[1:]); err != nil {
			t.Fatalf("%q: %v", w.Words(), err)
		}
		got, err := f.request(env, cmd, cmd.Flags().Args())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", w.Words(), got, err, want)
		}
	}
}

// machineOf gives what flags say of a machine.
func machineOf(t *testing.T, words ...string) (vm config.VM) {
	t.Helper()
	for _, f := range vm.Flags() {
		for _, word := range words {
			if value, ok := strings.CutPrefix(word, f.Name+"="); ok {
				if err := f.Set(value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return vm
}

// TestWishZeroByte: no word of a command line has one.
func TestWishZeroByte(t *testing.T) {
	w := startop.Wish{Name: "shop", Purpose: "a\x00b"}
	if r, err := w.Request((&cmdenv.Env{}).Caller()); err == nil {
		t.Errorf("%+v", r)
	}
}

// TestWishIsWhole: a field that Words leaves out would be lost on the way to the supervisor.
func TestWishIsWhole(t *testing.T) {
	none := startop.Wish{}
	for i := range reflect.TypeFor[startop.Wish]().NumField() {
		var w startop.Wish
		field := reflect.ValueOf(&w).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(1)
		case reflect.Struct:
			field.Set(reflect.ValueOf(machineOf(t, "cpus=1")))
		default:
			t.Fatalf("field %d is a %s", i, field.Kind())
		}
		if reflect.DeepEqual(w.Words(), none.Words()) {
			t.Errorf("%+v has no words", w)
		}
	}
}
