package qemu

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// firstFile is the descriptor of the first file that a program is started with beyond the standard ones.
const firstFile = 3

// arguments are those of QEMU for a machine whose kernel, archive and ports are files, in this order.
func arguments(c *Config) []string {
	const machine = "microvm,acpi=on,pit=on,pic=on,rtc=on,isa-serial=off,x-option-roms=off,memory-backend=ram"
	accel, cpu := "kvm", "host"
	if c.Accel == AccelTCG {
		accel, cpu = "tcg,thread=multi", "Nehalem,+rdrand" // a processor with more starts slower
	}
	file := func(i int) string { return "/proc/self/fd/" + strconv.Itoa(firstFile+i) }
	megabytes := strconv.FormatInt(c.Memory>>20, 10) + "M"
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-machine", machine, "-accel", accel, "-cpu", cpu, "-smp", strconv.Itoa(c.CPUs), "-m", megabytes,
		"-object", "memory-backend-memfd,id=ram,share=off,size=" + megabytes,
		"-kernel", file(0), "-initrd", file(1), "-append", kernelWords(c.Accel),
		"-device", "virtio-serial-device,id=ports,max_ports=8",
	}
	for i, name := range ports {
		args = append(args, "-chardev", fmt.Sprintf("socket,id=c%d,fd=%d", i, firstFile+2+i),
			"-device", fmt.Sprintf("virtserialport,bus=ports.0,nr=%d,chardev=c%d,name=%s", i+1, i, name))
	}
	return args
}

// kernelWords are those that the kernel of a machine is given. What makes it safer on a processor that
// it shares costs much where each instruction is translated, and protects nothing there.
func kernelWords(accel Accel) string {
	words := []string{"quiet", "loglevel=1", "panic=-1", "random.trust_cpu=on", "8250.nr_uarts=0", "cryptomgr.notests", "nowatchdog"}
	if accel == AccelTCG {
		words = append(words, "tsc=reliable", "no_timer_check", "mitigations=off", "nokaslr", "audit=0", "lsm=")
		if khz := processorKHz(); khz > 0 { // the machine has no clock that it could measure this by
			words = append(words, "tsc_early_khz="+strconv.Itoa(khz))
		}
	}
	return strings.Join(words, " ")
}

// processorKHz is the frequency of this host's processor, 0 where it is not known.
func processorKHz() int {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && strings.TrimSpace(name) == "cpu MHz" {
			return int(mhz * 1000)
		}
	}
	return 0
}
