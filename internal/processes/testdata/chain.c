#include <unistd.h>
int main() { for (;;) if (fork()) _exit(0); }
