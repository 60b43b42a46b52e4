/* Moves two clocks of the one process it is preloaded into: the calendar, and the time since boot, which alone goes on
   while a machine sleeps. The file named by MOVED_CLOCKS holds both differences in seconds. Timers are left alone. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long ahead(int which) {
    const char *path = getenv("MOVED_CLOCKS");
    char text[64] = "";
    long long seconds[2] = {0, 0};
    int before = errno;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        ssize_t size = read(file, text, sizeof text - 1);
        close(file);
        if (size > 0) sscanf(text, "%lld %lld", &seconds[0], &seconds[1]);
    }
    errno = before;
    return seconds[which];
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += ahead(0);
    if (result == 0 && clock == CLOCK_BOOTTIME) now->tv_sec += ahead(1);
    return result;
}
