// Networks from which a user signed in lately: wrong passwords from elsewhere don't keep the user out there.
import { networkOf } from "../../domain/networks.ts";
import {
  deleteOldNetworks,
  deleteUnseenNetworks,
  findKnownNetwork,
  findLastNetwork,
  keepKnownNetwork,
} from "../../store/known-networks.ts";
import type { Context } from "../context.ts";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds after which a network without sign-ins is unknown again. */
const KNOWN = 30 * DAY;
/** Milliseconds between two records of a network. */
const SEEN_INTERVAL = DAY;
const MOST_OF_USER = 50;
/** Networks of all users whose record is remembered, to write none twice a day. */
const MOST_NOTED = 10_000;

interface KnownNetworks {
  /** Notes that a user signed in from an address. */
  note(user_id: number, address: string): void;
  /** Whether a user signed in from this network within 30 days. @param network as networkOf() writes it */
  has(user_id: number, network: string): Promise<boolean>;
}

/** Writes a network that is new, and others once a day. */
export function createKnownNetworks({ database, clock }: Pick<Context, "database" | "clock">): KnownNetworks {
  const noted = new Map<string, number>();
  return {
    note(user_id, address) {
      const [network, seen_at] = [networkOf(address), clock.now()];
      const key = `${user_id} ${network}`;
      if (network === "" || Math.abs(seen_at - (noted.get(key) ?? Number.NEGATIVE_INFINITY)) < SEEN_INTERVAL) return;
      if (noted.size >= MOST_NOTED) noted.clear();
      noted.set(key, seen_at);
      // Not awaited: a full disk must not lock readers out.
      database
        .write(async (tx) => {
          // From a sign-in of earlier: a clock that is years ahead for some hours must not delete all others.
          const [last] = await findLastNetwork(tx, { user_id, until: seen_at - DAY / 2 });
          await keepKnownNetwork(tx, { user_id, network, seen_at });
          if (last) await deleteUnseenNetworks(tx, { user_id, since: last.seen_at - KNOWN });
          await deleteOldNetworks(tx, { user_id, kept: MOST_OF_USER });
        }, user_id)
        .catch(() => noted.delete(key));
    },
    async has(user_id, network) {
      const [row] = await database.read((tx) => findKnownNetwork(tx, { user_id, network }));
      return row !== undefined && clock.now() - row.seen_at < KNOWN;
    },
  };
}
