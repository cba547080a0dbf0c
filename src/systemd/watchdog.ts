// What systemd is told while the server runs, where it was systemd that started it.
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import { hasUsers } from "../services/users.ts";

export interface Supervisor {
  ready(): void;
  stopping(): void;
}

/**
 * Makes the way to systemd: it hears when the server is ready and when it stops, and after each read of the database
 * that the server lives. So one that hangs, or can't read any more, is started again.
 * @throws DomainError "config" where there is no such way
 */
export async function supervise(app: App): Promise<Supervisor> {
  if (!process.env["NOTIFY_SOCKET"]) return { ready() {}, stopping() {} };
  const { openNotify, watchdogInterval } = await import("./notify.ts");
  const notify = openNotify(process.env["NOTIFY_SOCKET"]);
  const interval = watchdogInterval(process.env);
  let timer: ReturnType<typeof setInterval> | undefined;
  async function feed(): Promise<void> {
    try {
      await hasUsers(app);
      notify("WATCHDOG=1");
    } catch (error) {
      app.log.error(
        { reason: messageOf(error) },
        "the database can't be read, so systemd is not told that all is well",
      );
    }
  }
  return {
    ready() {
      notify("READY=1");
      if (interval) timer = setInterval(feed, interval / 2);
    },
    stopping() {
      clearInterval(timer);
      notify("STOPPING=1");
    },
  };
}
