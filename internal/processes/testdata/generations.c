#include <unistd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
int main(int argc, char **argv) {
	for (int i = atoi(argv[1]); i > 1 && !fork(); i--) prctl(PR_SET_PDEATHSIG, SIGKILL);
	write(1, "x", 1);
	pause();
}
