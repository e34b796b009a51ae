#include "textflag.h"

// func clone(flags, stack uintptr, page *call, ended *uint32) (tid uintptr)
TEXT ·clone(SB),NOSPLIT,$0-40
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD ended+24(FP), R4
	MOVD page+16(FP), R19
	MOVD $220, R8 // clone
	SVC
	CBZ  R0, wait
	MOVD R0, tid+32(FP)
	RET

	// From here on it is the new thread, for good.
wait:
	LDARW (R19), R2 // state
	CMPW $1, R2 // asked
	BEQ  carry
	MOVD R19, R0
	MOVD $0, R1 // FUTEX_WAIT
	MOVD $0, R3
	MOVD $98, R8 // futex
	SVC
	B    wait

carry:
	MOVD 8(R19), R8 // nr
	MOVD 16(R19), R0 // args
	MOVD 24(R19), R1
	MOVD 32(R19), R2
	MOVD 40(R19), R3
	MOVD 48(R19), R4
	MOVD 56(R19), R5
	SVC
	MOVD R0, 64(R19) // result
	MOVD $2, R9 // done
	STLRW R9, (R19)
	MOVD R19, R0
	MOVD $1, R1 // FUTEX_WAKE
	MOVD $1, R2
	MOVD $98, R8
	SVC
	B    wait
