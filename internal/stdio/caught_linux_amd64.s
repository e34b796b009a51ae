#include "textflag.h"

// The kernel calls these, with a stack of their own, the signal in DI and the address of
// restorer as that to return to.

TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	SUBQ $8, SP
	MOVB DI, (SP)
	MOVQ ·caughtWriter(SB), DI
	MOVQ SP, SI
	MOVL $1, DX
	MOVL $1, AX // write
	SYSCALL
	ADDQ $8, SP
	RET

TEXT ·restorer(SB),NOSPLIT|NOFRAME,$0
	MOVL $15, AX // rt_sigreturn
	SYSCALL
	INT  $3

DATA ·handlerAddress(SB)/8, $·handler(SB)
GLOBL ·handlerAddress(SB), NOPTR, $8
DATA ·restorerAddress(SB)/8, $·restorer(SB)
GLOBL ·restorerAddress(SB), NOPTR, $8
