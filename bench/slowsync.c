// A disk that takes its time: every fsync lasts 10 ms longer. Loaded with LD_PRELOAD.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void dawdle(void) {
  struct timespec pause = {0, 10 * 1000 * 1000};
  nanosleep(&pause, 0);
}

int fsync(int file) {
  dawdle();
  return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  dawdle();
  return syscall(SYS_fdatasync, file);
}
