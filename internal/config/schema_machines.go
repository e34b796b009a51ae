package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/policy"
)

// Lima is what machines of backend lima are made of. nil: not said; the operator's word stands.
type Lima struct {
	Image  *policy.Value[string]
	Digest *policy.Value[string]
	CPUs   *policy.Value[int64]
	Memory *policy.Value[int64] // in bytes
	Disk   *policy.Value[int64] // in bytes
}

func limaField() field {
	return field{key: "lima", typ: typeObject, in: userFiles,
		doc: "What the machines of backend lima are made of. What the operator names, no other file changes.",
		sub: []field{
			{key: "image", typ: typeText, check: badMachineImage,
				doc: "The disk image of a Debian-like system: an https URL or an absolute path. Lima fetches it.",
				put: func(t *target, v value) { t.settings.Lima.Image = textValue[string](v) }},
			{key: "digest", typ: typeText, check: badImageDigest,
				doc: "The digest of the image: sha256: or sha512: and hexadecimal digits. Lima refuses another.",
				put: func(t *target, v value) { t.settings.Lima.Digest = textValue[string](v) }},
			{key: "cpus", typ: typeCount, doc: "Processors of a machine. 2 where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.CPUs = numberValue(v) }},
			{key: "memory", typ: typeSize, doc: "Memory of a machine. 2GiB where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.Memory = numberValue(v) }},
			{key: "disk", typ: typeSize, doc: "Disk of a machine. 20GiB where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.Disk = numberValue(v) }},
		}}
}

func badMachineImage(v value) string {
	if !strings.HasPrefix(v.text, "/") && !strings.HasPrefix(v.text, "https://") {
		return fmt.Sprintf("%s is neither an absolute path nor an https URL", quoted(v.text))
	}
	return ""
}

func badImageDigest(v value) string {
	kind, digits, _ := strings.Cut(v.text, ":")
	if want := map[string]int{"sha256": 64, "sha512": 128}[kind]; want == 0 || len(digits) != want || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Sprintf("%s is no digest: want sha256:, or sha512:, and hexadecimal digits", quoted(v.text))
	}
	return ""
}

// DiskImage gives the image that machines are made of. An image from the network takes a digest.
func (l *Lima) DiskImage() (*policy.Value[string], error) {
	switch {
	case l.Image == nil:
		return nil, &advice.Error{Err: errors.New("no disk image is named"),
			Hint: "set lima.image in your configuration, and lima.digest for one from the network"}
	case l.Digest == nil && !strings.HasPrefix(l.Image.V, "/"):
		return nil, &advice.Error{Err: fmt.Errorf("the image %s has no digest (%s)", l.Image.V, l.Image.Source),
			Hint: "set lima.digest beside lima.image, in the same file"}
	}
	return l.Image, nil
}

// merge takes what a file says. An image goes with its digest: one file's digest is of its own image.
func (l *Lima) merge(said Lima) {
	if l.Image == nil {
		l.Image, l.Digest = said.Image, said.Digest
	}
	for _, n := range []struct{ to, from **policy.Value[int64] }{
		{&l.CPUs, &said.CPUs}, {&l.Memory, &said.Memory}, {&l.Disk, &said.Disk},
	} {
		if *n.to == nil {
			*n.to = *n.from
		}
	}
}

func numberValue(v value) *policy.Value[int64] {
	return &policy.Value[int64]{V: v.number, Source: v.source}
}

// VM is what machines of backend vm are made of. nil: not said; the operator's word stands.
// [VM.Flags] are the flags that say the same for one start.
type VM struct {
	QEMU, Kernel, Initrd, Accel *policy.Value[string]
	CPUs                        *policy.Value[int64]
	Memory                      *policy.Value[int64] // in bytes
}

var vmAccels = []string{"auto", "kvm", "tcg"}

func vmField() field {
	return field{key: "vm", typ: typeObject, in: userFiles,
		doc: "What the machines of backend vm are made of. What the operator names, no other file changes.",
		sub: []field{
			{key: "accel", typ: typeEnum, enum: vmAccels,
				doc: "What runs a machine: kvm, the processor; tcg, QEMU, some 20 times slower; " +
					"auto (default) takes kvm where that is fast, and refuses otherwise.",
				put: func(t *target, v value) { t.settings.VM.Accel = textValue[string](v) }},
			{key: "qemu", typ: typeText, check: badMachineFile,
				doc: "The program of QEMU, by its absolute path. Without it, qemu-system-x86_64 in PATH.",
				put: func(t *target, v value) { t.settings.VM.QEMU = textValue[string](v) }},
			{key: "kernel", typ: typeText, check: badMachineFile,
				doc: "The kernel of a machine, by its absolute path, in place of the image that carrel vm build-image makes.",
				put: func(t *target, v value) { t.settings.VM.Kernel = textValue[string](v) }},
			{key: "initrd", typ: typeText, check: badMachineFile, doc: "With vm.kernel: the archive with its modules, by its absolute path.",
				put: func(t *target, v value) { t.settings.VM.Initrd = textValue[string](v) }},
			{key: "cpus", typ: typeCount, doc: "Processors of a machine. 2 where it is not said.",
				put: func(t *target, v value) { t.settings.VM.CPUs = numberValue(v) }},
			{key: "memory", typ: typeSize, doc: "Memory of a machine. 2GiB where it is not said.",
				put: func(t *target, v value) { t.settings.VM.Memory = numberValue(v) }},
		}}
}

func badMachineFile(v value) string {
	if !filepath.IsAbs(v.text) {
		return fmt.Sprintf("%s is no absolute path", quoted(v.text))
	}
	return ""
}

// merge takes what a file says. An archive goes with its kernel.
func (m *VM) merge(said VM) {
	if m.Kernel == nil && m.Initrd == nil {
		m.Kernel, m.Initrd = said.Kernel, said.Initrd
	}
	for _, v := range []struct{ to, from **policy.Value[string] }{{&m.QEMU, &said.QEMU}, {&m.Accel, &said.Accel}} {
		if *v.to == nil {
			*v.to = *v.from
		}
	}
	for _, v := range []struct{ to, from **policy.Value[int64] }{{&m.CPUs, &said.CPUs}, {&m.Memory, &said.Memory}} {
		if *v.to == nil {
			*v.to = *v.from
		}
	}
}

// VMFlag is a flag by which the command line says what a machine of backend vm is made of, for one
// start. It has the methods of a pflag.Value.
type VMFlag struct {
	Name, Usage, Key string   // Key means the same in the configuration
	Words            []string // that it takes; nil for a number or a path

	text   **policy.Value[string]
	number **policy.Value[int64]
	unit   int64  // of number
	symbol string // of unit, in the configuration
}

// Flags are those that read and set m.
func (m *VM) Flags() []*VMFlag {
	return []*VMFlag{
		{Name: "accel", Key: "vm.accel", text: &m.Accel, Words: vmAccels,
			Usage: "with --backend vm, what runs the machine: kvm, the processor; tcg, QEMU, slowly; auto (default): kvm, or none"},
		{Name: "memory-mb", Key: "vm.memory", number: &m.Memory, unit: 1 << 20, symbol: "MiB",
			Usage: "with --backend vm: the machine's memory in MiB (default 2048)"},
		{Name: "cpus", Key: "vm.cpus", number: &m.CPUs, unit: 1, Usage: "with --backend vm: the machine's processors (default 2)"},
		{Name: "qemu-binary", Key: "vm.qemu", text: &m.QEMU,
			Usage: "with --backend vm: the program of QEMU (default qemu-system-x86_64 in PATH)"},
		{Name: "kernel-path", Key: "vm.kernel", text: &m.Kernel,
			Usage: "with --backend vm: boot this kernel (default the image of carrel vm build-image)"},
		{Name: "initrd-path", Key: "vm.initrd", text: &m.Initrd, Usage: "with --kernel-path: the archive with its modules"},
	}
}

// Set takes the flag's word. A path is made absolute from where this process is.
func (f *VMFlag) Set(word string) error {
	source := policy.Source{Layer: policy.LayerCommandLine, Text: "--" + f.Name}
	if f.number != nil {
		n, err := ParseCount(word)
		if err == nil && (n == 0 || n > maxInMachine) {
			err = fmt.Errorf("%q is out of range: want 1 to %d", word, maxInMachine)
		}
		if err != nil {
			return err
		}
		*f.number = &policy.Value[int64]{V: n * f.unit, Source: source}
		return nil
	}
	switch {
	case f.Words != nil && !slices.Contains(f.Words, word):
		return fmt.Errorf("want one of %s", strings.Join(f.Words, ", "))
	case word == "":
		return errors.New("want a path")
	case f.Words == nil:
		path, err := filepath.Abs(word)
		if err != nil {
			return err
		}
		word = path
	}
	*f.text = &policy.Value[string]{V: word, Source: source}
	return nil
}

// maxInMachine bounds the numbers of flags, so that none overflows in bytes.
const maxInMachine = 1 << 24

// String gives the flag's word, "" where nothing is said.
func (f *VMFlag) String() string {
	switch {
	case f.text != nil && *f.text != nil:
		return (*f.text).V
	case f.number != nil && *f.number != nil:
		return strconv.FormatInt((*f.number).V/f.unit, 10)
	}
	return ""
}

// Type names the word in help.
func (f *VMFlag) Type() string {
	switch {
	case f.number != nil:
		return "N"
	case f.Words != nil:
		return "string"
	}
	return "PATH"
}

// Said gives the value as the configuration writes it, and who says so; "" where nothing is said.
func (f *VMFlag) Said() (value string, by policy.Source) {
	if value = f.String(); value == "" {
		return "", by
	}
	if f.number != nil {
		return value + f.symbol, (*f.number).Source
	}
	return value, (*f.text).Source
}

// Override puts what the command line says in the place of what files say. What the operator names, it
// does not change.
func (m *VM) Override(asked *VM) error {
	if asked.Initrd != nil && asked.Kernel == nil {
		return &advice.Error{Err: fmt.Errorf("--initrd-path %s: there is no kernel that it goes with", asked.Initrd.V),
			Hint: "name that by --kernel-path"}
	}
	have := m.Flags()
	for i, f := range asked.Flags() {
		value, _ := f.Said()
		is, by := have[i].Said()
		kept := asked.Kernel != nil && f.text == &asked.Initrd // nothing said means none
		if (value != "" || kept) && value != is && is != "" && by.Layer == policy.LayerOperator {
			return fmt.Errorf("--%s %s: the operator's file names %s %s (%s)", f.Name, f, f.Key, is, by)
		}
	}
	if k := m.Kernel; asked.Initrd != nil && m.Initrd == nil && k != nil && k.Source.Layer == policy.LayerOperator {
		return fmt.Errorf("--initrd-path %s: the operator's file names vm.kernel alone (%s)", asked.Initrd.V, k.Source)
	}
	said := *asked
	said.merge(*m)
	*m = said
	return nil
}
