package guestimage

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// needed are the modules that a machine is started with: its devices are virtio over memory, its
// files come by FUSE, and what it changes of the system lies in an overlay. A kernel may have them
// built in.
var needed = []string{"virtio_mmio", "virtio_console", "fuse", "overlay"}

// module is one that has to be loaded.
type module struct {
	name string
	text []byte
}

// ordered gives the modules that are needed and those that they depend on, in the order in which a
// kernel can load them.
func ordered(all map[string][]byte) (list []module, err error) {
	var add func(name string, above []string) error
	add = func(name string, above []string) error {
		text, there := all[name]
		switch {
		case slices.ContainsFunc(list, func(m module) bool { return m.name == name }):
			return nil
		case slices.Contains(above, name):
			return fmt.Errorf("the module %s depends on itself", name)
		case !there && len(above) == 0:
			return nil // built in, or not there: the machine says so
		case !there:
			return fmt.Errorf("the module %s, which %s needs, is not in the package", name, above[len(above)-1])
		}
		depends, err := dependsOf(text)
		if err != nil {
			return fmt.Errorf("the module %s: %w", name, err)
		}
		for _, other := range depends {
			if err := add(other, append(slices.Clone(above), name)); err != nil {
				return err
			}
		}
		list = append(list, module{name, text})
		return nil
	}
	for _, name := range needed {
		if err := add(name, nil); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the package has none of the modules that a machine needs (" + strings.Join(needed, ", ") + ")")
	}
	return list, nil
}

// dependsOf reads what a module says of those that have to be there before it.
func dependsOf(text []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it says nothing of itself")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for word := range strings.SplitSeq(string(info), "\x00") {
		if names, ok := strings.CutPrefix(word, "depends="); ok && names != "" {
			return strings.Split(strings.ReplaceAll(names, "-", "_"), ","), nil
		}
	}
	return nil, nil
}
