package policyflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// places are the flags that name a file or directory, which may be relative to where they were
// given.
var places = []string{"read", "write", "qemu-binary", "kernel-path", "initrd-path"}

// Words gives the flags that were set as words of carrel start, for one in another directory. Those
// that are named in without are left out.
func Words(flags *pflag.FlagSet, without []string) (words []string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	flags.Visit(func(flag *pflag.Flag) {
		if slices.Contains(without, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if slices.Contains(places, flag.Name) && v != "" && !filepath.IsAbs(v) && v != "~" && !strings.HasPrefix(v, "~/") {
				v = filepath.Join(here, v)
			}
			words = append(words, "--"+flag.Name+"="+v)
		}
	})
	return words, nil
}
