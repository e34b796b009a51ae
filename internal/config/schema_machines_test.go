package config

import (
	"strings"
	"testing"

	"carrel/internal/policy"
)

// said gives what flags, NAME=WORD, say of a machine, as a layer says it.
func said(t *testing.T, layer policy.LayerKind, words ...string) (m VM) {
	t.Helper()
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		for _, f := range m.Flags() {
			if f.Name == name {
				if err := f.Set(value); err != nil {
					t.Fatal(err)
				}
				if f.number != nil {
					(*f.number).Source.Layer = layer
				} else {
					(*f.text).Source.Layer = layer
				}
			}
		}
	}
	return m
}

func flagsOfVM(m VM) string {
	var out []string
	for _, f := range m.Flags() {
		if f.String() != "" {
			out = append(out, f.Name+"="+f.String())
		}
	}
	return strings.Join(out, " ")
}

// TestVMFlagsOverride: a flag stands in the place of what the user's file says, an archive goes with
// its kernel, and nothing of the operator's is changed.
func TestVMFlagsOverride(t *testing.T) {
	for _, tt := range []struct{ user, operator, flags, want string }{
		{"", "", "memory-mb=512 cpus=1 accel=tcg", "accel=tcg memory-mb=512 cpus=1"},
		{"memory-mb=4096 cpus=4", "", "memory-mb=512", "memory-mb=512 cpus=4"},
		{"kernel-path=/k initrd-path=/i", "", "kernel-path=/other", "kernel-path=/other"},
		{"kernel-path=/k", "", "kernel-path=/other initrd-path=/more", "kernel-path=/other initrd-path=/more"},
		{"kernel-path=/k", "", "initrd-path=/more", "!--initrd-path /more: there is no kernel"},
		{"", "memory-mb=512", "memory-mb=512 cpus=2", "memory-mb=512 cpus=2"},
		{"", "memory-mb=512", "memory-mb=4096", "!--memory-mb 4096: the operator's file names vm.memory 512MiB"},
		{"", "accel=kvm", "accel=tcg", "!--accel tcg: the operator's file names vm.accel kvm"},
		{"", "kernel-path=/k initrd-path=/i", "kernel-path=/k initrd-path=/i", "kernel-path=/k initrd-path=/i"},
		{"", "kernel-path=/k initrd-path=/i", "kernel-path=/k", "!--initrd-path : the operator's file names vm.initrd /i"},
		{"", "kernel-path=/k", "kernel-path=/k initrd-path=/i", "!--initrd-path /i: the operator's file names vm.kernel alone"},
		{"", "kernel-path=/k", "kernel-path=/other", "!--kernel-path /other: the operator's file names vm.kernel /k"},
	} {
		m := said(t, policy.LayerUser, strings.Fields(tt.user)...)
		if tt.operator != "" {
			m = said(t, policy.LayerOperator, strings.Fields(tt.operator)...)
		}
		asked := said(t, policy.LayerCommandLine, strings.Fields(tt.flags)...)
		err := m.Override(&asked)
		if want, refused := strings.CutPrefix(tt.want, "!"); refused {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%+v: %v", tt, err)
			}
		} else if got := flagsOfVM(m); err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

// TestVMFlagsRefuse: a word that no machine can be made of is refused when it is read, and a relative
// path means one from here.
func TestVMFlagsRefuse(t *testing.T) {
	for _, word := range []string{"accel=", "accel=fast", "memory-mb=", "memory-mb=0", "memory-mb=512MiB", "memory-mb=-1",
		"memory-mb=9223372036854775807", "cpus=0", "qemu-binary=", "kernel-path=", "initrd-path="} {
		var m VM
		name, value, _ := strings.Cut(word, "=")
		for _, f := range m.Flags() {
			if f.Name == name && f.Set(value) == nil {
				t.Errorf("%s is taken", word)
			}
		}
		if got := flagsOfVM(m); got != "" {
			t.Errorf("%s says %s", word, got)
		}
	}
	m := said(t, policy.LayerCommandLine, "kernel-path=k", "memory-mb=3")
	if !strings.HasSuffix(m.Kernel.V, "/internal/config/k") || m.Memory.V != 3<<20 {
		t.Errorf("%q, %d", m.Kernel.V, m.Memory.V)
	}
}
