// A slow disk: every fsync takes 10 ms longer. Load it with LD_PRELOAD.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void pause_10_ms(void) {
  struct timespec pause = {0, 10 * 1000 * 1000};
  nanosleep(&pause, 0);
}

int fsync(int file) {
  pause_10_ms();
  return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  pause_10_ms();
  return syscall(SYS_fdatasync, file);
}
