package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of linux/kvm.h.
const (
	kvmCreateVM  = 0xae01
	kvmRunSize   = 0xae04 // KVM_GET_VCPU_MMAP_SIZE
	kvmAddCPU    = 0xae41
	kvmSetMemory = 0x4020ae46
	kvmRun       = 0xae80
	kvmSetRegs   = 0x4090ae82
	kvmGetSregs  = 0x8138ae83
	kvmSetSregs  = 0x4138ae84
)

// Places in structures of linux/kvm.h, as x86-64 has them.
const (
	regsSize, sregsSize  = 144, 312
	regRIP, regFlags     = 16 * 8, 17 * 8
	segBase, segSelector = 0, 12 // of CS, which is the first in the special registers
	runExit, exitHalt    = 8, 5
)

// loop counts down in a machine of 16 bits: mov cx, probeRounds; dec cx; jnz; hlt.
var loop = []byte{0xb9, probeRounds & 0xff, probeRounds >> 8, 0x49, 0x75, 0xfd, 0xf4}

// probeTime bounds a probe: a kernel may never come back from a machine.
const probeTime = 5 * time.Second

// probe runs the loop, and says how long it took.
func probe() (time.Duration, error) {
	type result struct {
		took time.Duration
		err  error
	}
	done := make(chan result, 1)
	go func() {
		took, err := runLoop()
		done <- result{took, err}
	}()
	select {
	case r := <-done:
		return r.took, r.err
	case <-time.After(probeTime):
		return 0, errors.New("a machine of KVM does not come to its end")
	}
}

func runLoop() (time.Duration, error) {
	kvm, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "opening", Path: "/dev/kvm", Err: err}
	}
	defer unix.Close(kvm)
	vm, err := control(kvm, kvmCreateVM, 0)
	if err != nil {
		return 0, fmt.Errorf("making a machine of KVM: %w", err)
	}
	defer unix.Close(vm)
	size := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Munmap(memory) }()
	copy(memory, loop)
	region := make([]byte, 32) // slot, flags, address in the machine, size, address here
	binary.NativeEndian.PutUint64(region[16:], uint64(size))
	binary.NativeEndian.PutUint64(region[24:], uint64(uintptr(unsafe.Pointer(&memory[0]))))
	if err := pass(vm, kvmSetMemory, region); err != nil {
		return 0, fmt.Errorf("giving memory to a machine of KVM: %w", err)
	}
	cpu, err := control(vm, kvmAddCPU, 0)
	if err != nil {
		return 0, fmt.Errorf("making a processor of KVM: %w", err)
	}
	defer unix.Close(cpu)
	length, err := control(kvm, kvmRunSize, 0)
	if err != nil {
		return 0, err
	}
	run, err := unix.Mmap(cpu, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Munmap(run) }()
	special, regs := make([]byte, sregsSize), make([]byte, regsSize)
	err = pass(cpu, kvmGetSregs, special)
	binary.NativeEndian.PutUint64(special[segBase:], 0)
	binary.NativeEndian.PutUint16(special[segSelector:], 0)
	binary.NativeEndian.PutUint64(regs[regRIP:], 0)
	binary.NativeEndian.PutUint64(regs[regFlags:], 2)
	if err = errors.Join(err, pass(cpu, kvmSetSregs, special), pass(cpu, kvmSetRegs, regs)); err != nil {
		return 0, fmt.Errorf("setting registers of KVM: %w", err)
	}
	began := time.Now()
	for {
		if _, err = control(cpu, kvmRun, 0); err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("running a machine of KVM: %w", err)
	}
	if why := binary.NativeEndian.Uint32(run[runExit:]); why != exitHalt {
		return 0, fmt.Errorf("a machine of KVM ends for the reason %d instead of its end", why)
	}
	return took, nil
}

func control(fd int, request, value uintptr) (int, error) {
	n, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, value)
	if err != 0 {
		return -1, err
	}
	return int(n), nil
}

func pass(fd int, request uintptr, data []byte) error {
	_, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&data[0])))
	if err != 0 {
		return err
	}
	return nil
}
