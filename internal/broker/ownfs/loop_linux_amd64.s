#include "textflag.h"

// func clone(flags, stack uintptr, page *call, ended *uint32) (tid uintptr)
TEXT ·clone(SB),NOSPLIT,$0-40
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ $0, DX
	MOVQ ended+24(FP), R10
	MOVQ $0, R8
	MOVQ page+16(FP), R12
	MOVL $56, AX // clone
	SYSCALL
	TESTQ AX, AX
	JEQ  wait
	MOVQ AX, tid+32(FP)
	RET

	// From here on it is the new thread, for good.
wait:
	MOVL (R12), DX // state
	CMPL DX, $1 // asked
	JEQ  carry
	MOVQ R12, DI
	MOVL $0, SI // FUTEX_WAIT
	MOVQ $0, R10
	MOVL $202, AX // futex
	SYSCALL
	JMP  wait

carry:
	MOVQ 8(R12), AX // nr
	MOVQ 16(R12), DI // args
	MOVQ 24(R12), SI
	MOVQ 32(R12), DX
	MOVQ 40(R12), R10
	MOVQ 48(R12), R8
	MOVQ 56(R12), R9
	SYSCALL
	MOVQ AX, 64(R12) // result
	MOVL $2, AX // done
	XCHGL AX, (R12)
	MOVQ R12, DI
	MOVL $1, SI // FUTEX_WAKE
	MOVL $1, DX
	MOVL $202, AX
	SYSCALL
	JMP  wait
