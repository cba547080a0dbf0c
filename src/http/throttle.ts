// Limits of failed logins: counted in windows of time, for a bounded number of networks and user names.
import { isLoopback, networkOf } from "../domain/networks.ts";
import { readUserName } from "../domain/user-name.ts";
import { DomainError, type Subject } from "../errors.ts";
import { createKnownNetworks } from "../services/accounts/known-networks.ts";
import type { Attempts } from "../services/accounts/password-checker.ts";
import type { Context } from "../services/context.ts";
import { createWindows, type Windows } from "./failure-windows.ts";

/** Milliseconds. */
const ADDRESS_WINDOW = 60_000;
const USER_WINDOW = 15 * 60_000;
/** Wrong passwords in each window: of one user from all unknown networks together, and from each network that is known. */
const USER_LIMIT = 30;
/** The same from all known networks together: a stolen token makes every network known that it is used from. */
const KNOWN_LIMIT = 150;
/** Failures after which further passwords are tried later and later. */
const FREE_FAILURES = 5;
/** Milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;

export interface Throttle {
  /** The attempts to sign in of an IP address, or of the /64 of an IPv6 address. */
  attemptsFrom(address: string): Attempts;
}

/** Limits failed logins of each address: PODKEEP_FAILED_LOGINS a minute with passwords, and as many with tokens. */
export function createThrottle(app: Pick<Context, "clock" | "config" | "database">): Throttle {
  const { clock } = app;
  const limit = app.config.failed_logins;
  const known = createKnownNetworks(app);
  // Apart: a web page can send wrong tokens from its visitor's address, but no passwords.
  const byPassword = createWindows(clock, ADDRESS_WINDOW, limit);
  const byToken = createWindows(clock, ADDRESS_WINDOW, limit);
  const users = createWindows(clock, USER_WINDOW, USER_LIMIT);
  const fromKnown = createWindows(clock, USER_WINDOW, KNOWN_LIMIT);

  return {
    attemptsFrom(address) {
      const [network, exempt] = [networkOf(address), isLoopback(address)];
      const fail = (windows: Windows, subject?: Subject) => {
        if (!exempt && windows.count(network) > limit) throw tooMany(windows.secondsLeft(network), subject);
      };
      const refuseAddress = () => {
        if (byPassword.failures(network) >= limit) throw tooMany(byPassword.secondsLeft(network));
      };
      return {
        fail: () => fail(byPassword),
        failToken: (subject) => fail(byToken, subject),
        succeed: (user_id) => known.note(user_id, address),
        async begin(name, user_id) {
          // The address first: what is refused by it makes no window for a name, and no query.
          refuseAddress();
          const isKnown = user_id !== null && (await known.has(user_id, network));
          // Others of this address may have failed since.
          refuseAddress();
          const subject = JSON.stringify([readUserName(name)?.name_key ?? "", isKnown ? network : null]);
          if (users.failures(subject) >= USER_LIMIT) throw tooMany(users.secondsLeft(subject));
          const user = String(user_id);
          if (isKnown && fromKnown.failures(user) >= KNOWN_LIMIT) throw tooMany(fromKnown.secondsLeft(user));
          const pause = lockTime(Math.max(users.failures(subject), byPassword.failures(network)));
          const counted: [Windows, string][] = [[users, subject]];
          if (isKnown) counted.push([fromKnown, user]);
          if (!exempt) counted.push([byPassword, network]);
          for (const [windows, key] of counted) windows.count(key);
          if (pause > 0) await clock.sleep(pause);
          return () => {
            for (const [windows, key] of counted) windows.takeBack(key);
          };
        },
      };
    },
  };
}

const tooMany = (retry_after: number, subject?: Subject) =>
  new DomainError("too_many", "Too many failed logins", { retry_after, subject });

const lockTime = (failures: number) =>
  failures < FREE_FAILURES ? 0 : Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - FREE_FAILURES));
