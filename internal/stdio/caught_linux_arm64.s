#include "textflag.h"

// The kernel calls these, with a stack of their own, the signal in R0 and the address of
// restorer as that to return to.

TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	SUB  $16, RSP
	MOVB R0, (RSP)
	MOVD ·caughtWriter(SB), R0
	MOVD RSP, R1
	MOVD $1, R2
	MOVD $64, R8 // write
	SVC
	ADD  $16, RSP
	RET

TEXT ·restorer(SB),NOSPLIT|NOFRAME,$0
	MOVD $139, R8 // rt_sigreturn
	SVC
	BRK

DATA ·handlerAddress(SB)/8, $·handler(SB)
GLOBL ·handlerAddress(SB), NOPTR, $8
DATA ·restorerAddress(SB)/8, $·restorer(SB)
GLOBL ·restorerAddress(SB), NOPTR, $8
